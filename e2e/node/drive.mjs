// Drives one MCP server through one of the two TypeScript SDKs and prints what came back.
//
// Standard input holds a job, standard output gets its report, both JSON:
//
//   job     {sdk: "v1" | "v2", era?: "auto" | "legacy" | a revision (v2 only),
//            transport: {command, args, env} | {url, headers},
//            capabilities?, answers?: [{action, content?, fill?}], steps: [{method, params}]}
//   report  {protocol, server, instructions, capabilities,
//            steps: [{wire: [messages as they arrived], fault?: what the SDK objected to}],
//            asked: [params of each elicitation], notified: [notifications]}
//
// Elicitations take the job's answers in order; one too many is cancelled, and `fill` makes up content that fits
// the form. Questions for roots and samples get a fixed answer. `wire` is what the transport delivered before the
// SDK's schemas saw it, so a member that the SDK does not know is still there.

import { text } from 'node:stream/consumers';

const job = JSON.parse(await text(process.stdin));
const sdk = await (job.sdk === 'v2' ? import('./sdk2.mjs') : import('./sdk1.mjs'));

const report = { steps: [], asked: [], notified: [] };
const answers = [...(job.answers ?? [])];
let wire = [];

// filled makes up the content of a form: yes to everything, the first of each choice.
function filled(schema) {
  const value = ({ type, enum: choices, oneOf, default: given }) => {
    if (given !== undefined) return given;
    if (choices) return choices[0];
    if (oneOf) return oneOf[0].const;
    return { boolean: true, integer: 1, number: 1, string: 'yes', array: [] }[type];
  };
  return Object.fromEntries(Object.entries(schema?.properties ?? {}).map(([name, s]) => [name, value(s)]));
}

const client = sdk.newClient(job, {
  elicit: async (params) => {
    report.asked.push(params);
    await new Promise((read) => setTimeout(read, 1000)); // people take time
    const { fill, ...answer } = answers.shift() ?? { action: 'cancel' };
    return fill ? { ...answer, content: filled(params.requestedSchema) } : answer;
  },
  roots: () => ({ roots: [{ uri: 'file:///e2e/root', name: 'e2e' }] }),
  sample: () => ({ role: 'assistant', model: 'none', content: { type: 'text', text: 'sampled' }, stopReason: 'endTurn' }),
});
const transport = sdk.newTransport(job.transport);

// take lists what the client receives, in front of the client.
function take(message) {
  if (message.method === undefined) {
    wire.push(message);
  } else if (message.id === undefined) {
    report.notified.push(message);
  }
}

await client.connect(transport);
const deliver = transport.onmessage;
transport.onmessage = (message, extra) => {
  take(message);
  return deliver(message, extra);
};

report.protocol = sdk.protocol(client, transport);
report.server = client.getServerVersion();
report.instructions = client.getInstructions();
report.capabilities = client.getServerCapabilities();

const calls = {
  'tools/list': (p) => client.listTools(p),
  'tools/call': (p) => client.callTool(p),
  'resources/list': (p) => client.listResources(p),
  'resources/templates/list': (p) => client.listResourceTemplates(p),
  'resources/read': (p) => client.readResource(p),
  'prompts/list': (p) => client.listPrompts(p),
  'prompts/get': (p) => client.getPrompt(p),
  'completion/complete': (p) => client.complete(p),
  'ping': () => client.ping(),
};

for (const { method, params } of job.steps) {
  wire = [];
  const step = { wire };
  try {
    await calls[method](params);
  } catch (fault) {
    step.fault = String(fault?.message ?? fault);
  }
  report.steps.push(step);
}
await client.close();
process.stdout.write(JSON.stringify(report));
