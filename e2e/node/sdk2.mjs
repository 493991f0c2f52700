// The second TypeScript SDK: revision 2026-07-28, and the older ones where the job asks for them.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const info = { name: 'weir-e2e', title: 'TypeScript SDK, second generation', version: '2.0.0' };

export function newClient(job, { elicit, roots, sample }) {
  const capabilities = job.capabilities ?? {};
  const era = job.era ?? '2026-07-28';
  const mode = era === 'auto' || era === 'legacy' ? era : { pin: era };
  const client = new Client(info, { capabilities, versionNegotiation: { mode } });
  if (capabilities.elicitation) {
    client.setRequestHandler('elicitation/create', async ({ params }) => elicit(params));
  }
  if (capabilities.roots) {
    client.setRequestHandler('roots/list', async () => roots());
  }
  if (capabilities.sampling) {
    client.setRequestHandler('sampling/createMessage', async () => sample());
  }
  return client;
}

export function newTransport({ command, args, env, url, headers }) {
  if (url === undefined) {
    return new StdioClientTransport({ command, args, env: { ...process.env, ...env }, stderr: 'inherit' });
  }
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
}

export function protocol(client) {
  return client.getNegotiatedProtocolVersion() ?? '';
}
