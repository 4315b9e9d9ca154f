// A server as many are: it keeps one document, and loses writes that come at once. Its output is its stdout.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const file = process.env['NOTES_FILE'];
const log = (text) => process.env['NOTES_LOG'] && appendFileSync(process.env['NOTES_LOG'], `${text}\n`);
log(`start ${process.pid}`);
if (process.env['NOTES_HANG'] && existsSync(process.env['NOTES_HANG'])) {
  setInterval(() => {}, 1000);
  await new Promise(() => {});
}
if (process.env['NOTES_FAIL']) {
  process.stderr.write(`cannot open the notes with ${process.env['NOTES_SECRET'] ?? 'nothing'}\n`);
  process.exit(3);
}

const server = new McpServer({ name: process.env['NOTES_NAME'] ?? 'notes', version: '1.0.0' });
const READS = { readOnlyHint: true };
let running = 0;
let most = 0;

const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });
const data = (value) => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  structuredContent: value,
});

server.registerTool(
  'add_note',
  { description: 'Adds a line.', inputSchema: z.object({ note: z.string(), path: z.string().optional() }) },
  async ({ note, path = file }) => {
    running++;
    most = Math.max(most, running);
    const before = existsSync(path) ? readFileSync(path, 'utf8') : '';
    await delay(5);
    writeFileSync(path, `${before}${note}\n`);
    running--;
    return text(`added ${note}`);
  },
);
server.registerTool(
  'read_notes',
  { description: 'Reads all lines.', inputSchema: z.object({}), annotations: READS },
  async () => data({ notes: readFileSync(file, 'utf8').trim().split('\n') }),
);
let meeting = [];
const meet = ({ count }) =>
  new Promise((resolve) => {
    meeting.push(resolve);
    if (meeting.length < count) return;
    for (const one of meeting) one(text('met'));
    meeting = [];
  });
server.registerTool(
  'meet_as',
  {
    description: 'The same, and may change something.',
    inputSchema: z.object({ count: z.number(), path: z.string() }),
  },
  meet,
);
server.registerTool(
  'meet',
  {
    description: 'Answers when so many are there.',
    inputSchema: z.object({ count: z.number() }),
    annotations: READS,
  },
  meet,
);
server.registerTool(
  'most_at_once',
  { description: 'How many writes ran at once.', inputSchema: z.object({}), annotations: READS },
  async () => data({ most }),
);
server.registerTool(
  'echo',
  { description: 'Gives back a text.', inputSchema: z.object({ text: z.string() }), annotations: READS },
  async ({ text: said }) => text(said),
);
server.registerTool(
  'whoami',
  { description: 'The process and its environment.', inputSchema: z.object({}), annotations: READS },
  async () => data({ pid: process.pid, env: process.env, cwd: process.cwd() }),
);
server.registerTool(
  'fail',
  {
    description: 'Fails.',
    inputSchema: z.object({ why: z.string() }),
    annotations: { idempotentHint: true },
  },
  async ({ why }) => {
    log('fail');
    return { ...text(why), isError: true };
  },
);
server.registerTool(
  'fail_once_each',
  { description: 'Fails, and may not be repeated.', inputSchema: z.object({}) },
  async () => {
    log('fail_once_each');
    return { ...text('no'), isError: true };
  },
);
server.registerTool(
  'die',
  { description: 'Ends the process.', inputSchema: z.object({}), annotations: READS },
  () => process.exit(7),
);
server.registerTool(
  'wait',
  {
    description: 'Waits until it is cancelled, and tells of it.',
    inputSchema: z.object({}),
    annotations: READS,
  },
  async (_, { mcpReq }) => {
    log('waiting');
    const { progressToken } = mcpReq._meta ?? {};
    if (progressToken !== undefined)
      await mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress: 1, total: 4, message: 'one of four' },
      });
    // On a slow machine it may be told before it listens.
    if (!mcpReq.signal.aborted)
      await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve));
    log('cancelled');
    return text('cancelled');
  },
);
server.registerTool(
  'big',
  {
    description: 'Gives much.',
    inputSchema: z.object({ size: z.number(), asData: z.boolean() }),
    annotations: READS,
  },
  async ({ size, asData }) => (asData ? data({ much: 'x'.repeat(size) }) : text('x'.repeat(size))),
);
server.registerTool(
  'flood',
  { description: 'Writes one endless line.', inputSchema: z.object({}), annotations: READS },
  async () => {
    for (;;) {
      process.stdout.write('x'.repeat(2 ** 20));
      await delay(1);
    }
  },
);
server.registerTool(
  'babble',
  { description: 'Prints what is no message.', inputSchema: z.object({}), annotations: READS },
  async () => {
    process.stdout.write('hello, this is a log line\n{"half": \n\n');
    return text('said it');
  },
);
server.registerTool(
  'answer',
  { description: 'Answers as told.', inputSchema: z.object({ result: z.string() }), annotations: READS },
  ({ result }, { mcpReq }) => {
    process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(mcpReq.id)},"result":${result}}\n`);
    return new Promise(() => {});
  },
);
server.registerTool(
  'erase',
  {
    description: 'Takes everything away.',
    inputSchema: z.object({}),
    annotations: { destructiveHint: true, readOnlyHint: false },
  },
  async () => {
    writeFileSync(file, '');
    return text('gone');
  },
);
server.registerTool(
  'learn',
  { description: 'Brings another tool.', inputSchema: z.object({ name: z.string() }) },
  async ({ name }) => {
    server.registerTool(
      name,
      { description: 'New.', inputSchema: z.object({}), annotations: READS },
      async () => text(`I am ${name}`),
    );
    return text('learned');
  },
);
server.registerTool(
  'folders',
  { description: 'The roots that the client tells.', inputSchema: z.object({}), annotations: READS },
  async () => data({ roots: (await server.server.listRoots()).roots.map(({ uri }) => uri) }),
);

if (process.env['NOTES_MODERN']) serveStdio(() => server, { legacy: 'reject' });
else await server.connect(new StdioServerTransport());
