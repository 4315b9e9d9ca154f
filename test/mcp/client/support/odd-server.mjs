// A server with names, schemas and tasks that most servers have not. Its output is its stdout.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const log = (text) => appendFileSync(process.env['ODD_LOG'], `${text}\n`);
const OBJECT = { type: 'object' };
const READS = { readOnlyHint: true };
const TASK = { execution: { taskSupport: 'required' }, inputSchema: OBJECT };
const TOOLS = [
  { name: 'issues/list', description: 'Lists.', inputSchema: OBJECT, annotations: READS },
  { name: 'issues_list', description: 'Lists, too.', inputSchema: OBJECT, annotations: READS },
  { name: 'repos/get all', description: 'Gets.', inputSchema: OBJECT, annotations: READS },
  { name: 'bad_schema', inputSchema: { type: 'object', properties: { a: { type: 'strin' } } } },
  { name: 'research', ...TASK },
  { name: 'research_badly', ...TASK },
  { name: 'research_endlessly', ...TASK },
  { name: 'ask', ...TASK },
];

const text = (value) => ({ content: [{ type: 'text', text: value }] });
/** By id: the tool, and how often somebody asked. */
const tasks = new Map();
const bodyOf = (taskId) => {
  const { name, polls, status } = tasks.get(taskId);
  const isOver = polls >= 3;
  const ended = name === 'research' ? 'completed' : 'failed';
  const now =
    status ??
    (name === 'ask' ? 'input_required' : isOver && name !== 'research_endlessly' ? ended : 'working');
  return {
    taskId,
    status: now,
    statusMessage: `step ${polls}`,
    pollInterval: 1,
    ttl: null,
    createdAt: new Date(0).toISOString(),
    lastUpdatedAt: new Date(0).toISOString(),
  };
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } },
    serverInfo: { name: 'odd', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: TOOLS }),
  'tools/call': ({ name, task }) => {
    const tool = TOOLS.find((one) => one.name === name);
    if (tool.execution === undefined) return text(`I am ${name}`);
    if (task === undefined) throw new Error(`${name} must be called as a task`);
    const taskId = `task-${tasks.size + 1}`;
    tasks.set(taskId, { name, polls: 0 });
    log(`${name} started`);
    return { task: bodyOf(taskId) };
  },
  'tasks/get': ({ taskId }) => {
    tasks.get(taskId).polls++;
    if (tasks.get(taskId).polls === 1) log(`${tasks.get(taskId).name} polled`);
    return bodyOf(taskId);
  },
  'tasks/result': ({ taskId }) => {
    const { name } = tasks.get(taskId);
    log(`${name} result`);
    return { ...text(name === 'research' ? 'found it' : 'no luck'), isError: name !== 'research' };
  },
  'tasks/cancel': ({ taskId }) => {
    log(`${tasks.get(taskId).name} cancelled`);
    tasks.get(taskId).status = 'cancelled';
    return bodyOf(taskId);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) continue;
  let answer;
  try {
    if (METHODS[method] === undefined) throw Object.assign(new Error('no'), { code: -32601 });
    answer = { result: METHODS[method](params ?? {}) };
  } catch (error) {
    answer = { error: { code: error.code ?? -32602, message: error.message } };
  }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
}
