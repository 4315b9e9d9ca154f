// A server that keeps a number in a file, and loses every change that comes while another is being made.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const { COUNTER: file, HOLD: holdFile } = process.env;
appendFileSync('servers', `${process.pid}\n`);
const object = (properties) => ({ type: 'object', properties });
const TOOLS = [
  { name: 'add', inputSchema: object({ to: { type: 'string' } }) },
  { name: 'hold', inputSchema: object({}) },
];

async function call(name, { to = '' }) {
  if (name === 'hold') {
    writeFileSync(holdFile, String(process.pid));
    await new Promise(() => {});
  }
  const path = `${file}${to}`;
  appendFileSync(path, '');
  const before = Number(readFileSync(path, 'utf8'));
  await delay(10);
  writeFileSync(path, String(before + 1));
}

async function resultOf({ method, params }) {
  if (method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'counter', version: '1.0.0' },
    };
  if (method === 'tools/list') return { tools: TOOLS };
  if (method !== 'tools/call') return {};
  await call(params.name, params.arguments);
  return { content: [{ type: 'text', text: 'done' }] };
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined) return;
  const result = await resultOf(message);
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result })}\n`);
});
