// The first TypeScript SDK: revisions 2024-11-05 to 2025-11-25.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const info = { name: 'weir-e2e', title: 'TypeScript SDK, first generation', version: '1.0.0' };

export function newClient(job, { elicit, roots, sample }) {
  const capabilities = job.capabilities ?? {};
  const client = new Client(info, { capabilities });
  if (capabilities.elicitation) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => elicit(params));
  }
  if (capabilities.roots) {
    client.setRequestHandler(ListRootsRequestSchema, async () => roots());
  }
  if (capabilities.sampling) {
    client.setRequestHandler(CreateMessageRequestSchema, async () => sample());
  }
  return client;
}

export function newTransport({ command, args, env, url, headers, sse }) {
  if (url === undefined) {
    return new StdioClientTransport({ command, args, env: { ...process.env, ...env }, stderr: 'inherit' });
  }
  const options = { requestInit: { headers } };
  return sse ? new SSEClientTransport(new URL(url), options) : new StreamableHTTPClientTransport(new URL(url), options);
}

// protocol tells the negotiated revision, which this SDK keeps in its HTTP transport only.
export function protocol(client, transport) {
  return transport.protocolVersion ?? '';
}
