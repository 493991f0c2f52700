// An MCP server of both eras on the second TypeScript SDK: a small lending library.
//
//   node library.mjs              serves stdio
//   node library.mjs http PORT    serves streamable HTTP on 127.0.0.1:PORT/mcp
//
// Its tools carry SEP-1913 annotations and members that no revision knows. `borrow` asks the user first, by an
// input-required result to a client of 2026-07-28 and by elicitation/create to an older one.

import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { Server, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const tools = [
  {
    name: 'find',
    title: 'Find a book',
    description: 'Looks a title up in the catalogue.',
    inputSchema: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
    annotations: {
      readOnlyHint: true,
      openWorldHint: false,
      returnMetadata: { source: 'internal', sensitivity: 'none' },
      'example.org/shelf': { depth: 3, rows: [1, 2, 3] },
    },
    _meta: { 'example.org/origin': { catalogue: 'main', checked: null } },
  },
  {
    name: 'borrow',
    title: 'Borrow a book',
    description: 'Lends a book, once the reader has confirmed.',
    inputSchema: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      openWorldHint: false,
      inputMetadata: { destination: 'internal', sensitivity: 'none', outcomes: ['consequential'] },
      returnMetadata: { source: 'internal', sensitivity: 'user' },
    },
  },
];

const form = {
  mode: 'form',
  message: 'Lend this book to you?',
  requestedSchema: { type: 'object', properties: { days: { type: 'integer' } }, required: ['days'] },
};

function lend(title, reply) {
  const days = reply?.action === 'accept' ? reply.content?.days : undefined;
  const text = days === undefined ? `kept ${title}` : `lent ${title} for ${days} days`;
  return { content: [{ type: 'text', text }], isError: days === undefined };
}

function newServer({ era }) {
  const server = new Server(
    { name: 'library', title: 'Lending library', version: '1.4.0' },
    { capabilities: { tools: {} }, instructions: 'Ask before you lend.' },
  );
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const title = params.arguments?.title;
    if (params.name === 'find') {
      return {
        content: [{ type: 'text', text: `${title}: shelf 7`, _meta: { 'example.org/row': 7 } }],
        structuredContent: { title, shelf: 7 },
        _meta: { 'example.org/cost': { units: 1.5, of: ['reads'] } },
      };
    }
    if (era === 'legacy') {
      return lend(title, await ctx.mcpReq.elicitInput(form));
    }
    const reply = ctx.mcpReq.inputResponses?.confirm;
    if (reply === undefined) {
      return inputRequired({ inputRequests: { confirm: inputRequired.elicit(form) } });
    }
    return lend(title, reply);
  });
  return server;
}

if (process.argv[2] === 'http') {
  const handler = createMcpHandler(newServer);
  createServer(toNodeHandler(handler)).listen(Number(process.argv[3]), '127.0.0.1');
} else {
  serveStdio(newServer);
}
