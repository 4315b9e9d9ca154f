import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { project } from '../e2e/support/project.ts';
import { serveBuilt } from './support/built-server.ts';

const API = pathToFileURL(createRequire(import.meta.url).resolve('@opentelemetry/api'));
/** As little of an SDK as will do: it writes each span to a file when it ends. */
const TELEMETRY = `
import { appendFileSync } from 'node:fs';
import api from '${API}';
let number = 0;
const tracer = {
  startSpan(name, { attributes = {} } = {}, within) {
    const parent = within && api.trace.getSpanContext(within);
    const own = {
      traceId: parent?.traceId ?? '1'.repeat(32),
      spanId: String(++number).padStart(16, '0'),
      traceFlags: 1,
    };
    const told = { name, ...own, parent: parent?.spanId, attributes: { ...attributes }, status: undefined };
    return {
      spanContext: () => own,
      isRecording: () => true,
      setAttribute(key, value) { told.attributes[key] = value; return this; },
      setStatus(status) { told.status = status; return this; },
      end() { appendFileSync(process.env.SPANS, JSON.stringify(told) + '\\n'); },
    };
  },
};
api.trace.setGlobalTracerProvider({ getTracer: () => tracer });
`;

interface KeptSpan {
  readonly name: string;
  readonly traceId: string;
  readonly parent?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status?: { readonly code: number; readonly message: string };
}

async function traced() {
  const folder = project({ 'telemetry.mjs': TELEMETRY });
  const file = join(folder, 'spans');
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(join(folder, 'telemetry.mjs'))}`, SPANS: file };
  const server = await serveBuilt(folder, [], env);
  const spans = (): KeptSpan[] =>
    (existsSync(file) ? readFileSync(file, 'utf8') : '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as KeptSpan);
  return { server, spans };
}

test('a request with two Host headers is refused', async () => {
  const { port } = await serveBuilt(project());
  const statusOf = async (hosts: readonly string[]) => {
    const socket = connect(port, '127.0.0.1');
    const lines = hosts.map((host) => `Host: ${host}\r\n`).join('');
    socket.write(`GET /healthz HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    return answer.toString();
  };
  const own = `127.0.0.1:${port}`;
  expect(await statusOf([own])).not.toMatch(/^HTTP\/1.1 400/);
  expect(await statusOf([own, 'evil.example'])).toMatch(/^HTTP\/1.1 400[\s\S]*DUPLICATE_HOST/);
  expect(await statusOf([own, own])).toMatch(/^HTTP\/1.1 400[\s\S]*DUPLICATE_HOST/);
});

test('only histograms and summaries have the labels that belong to them', async () => {
  const server = await serveBuilt(project());
  const text = await (await server.request('/metrics')).text();
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]));
  expect(types.size).toBeGreaterThan(10);
  const plain = [...text.matchAll(/^(\w+)\{([^}]*)\}/gm)].filter(([, name]) => types.has(name));
  expect(plain.length).toBeGreaterThan(5);
  for (const [whole, , labels] of plain) expect(labels, whole).not.toMatch(/\b(?:quantile|le)=/);
  for (const [name, type] of types) if (type === 'counter') expect(name).toMatch(/_total$/);
});

const TRACE = 'a'.repeat(32);
const CLIENT = 'b'.repeat(16);

test('what a request starts is within the span that its traceparent names', async () => {
  const { server, spans } = await traced();
  const send = (path: string, body: object, traceparent: string) =>
    server.request(path, { method: 'POST', body: JSON.stringify(body), headers: { traceparent } });
  const valid = `00-${TRACE}-${CLIENT}-01`;
  const calls = [{ name: 'list_directory', arguments: { path: '.' } }];
  for (const header of [
    valid,
    `ff-${TRACE}-${CLIENT}-01`,
    `00-${'0'.repeat(32)}-${CLIENT}-01`,
    `${valid}-x`,
    'x',
  ])
    expect((await send('/v1/execute', { calls }, header)).status).toBe(200);
  await expect.poll(() => spans().filter(({ name }) => name === 'volley.execution').length).toBe(5);
  const [first, ...others] = spans().filter(({ name }) => name === 'volley.execution');
  expect(first).toMatchObject({ traceId: TRACE, parent: CLIENT });
  for (const { parent } of others) expect(parent).toBeUndefined();
  await send('/v1/batches/x/tasks', { tasks: [{ function: 'list_directory' }] }, valid);
  await send('/v1/batches/x/start', {}, valid);
  await expect
    .poll(() => spans().find(({ name }) => name === 'volley.batch'))
    .toMatchObject({ parent: CLIENT });
});

test('the span of a batch with a failed task has the status error, and so has that of the task', async () => {
  const { server, spans } = await traced();
  const send = (path: string, body: object) =>
    server.request(path, { method: 'POST', body: JSON.stringify(body) });
  await send('/v1/batches/x/tasks', { tasks: [{ function: 'read_file', params: { path: 'missing' } }] });
  await send('/v1/batches/x/start', {});
  await expect.poll(() => spans().filter(({ name }) => name === 'volley.batch').length).toBe(1);
  const failed = { code: 2, message: expect.any(String) };
  expect(spans().find(({ name }) => name === 'volley.batch')).toMatchObject({ status: failed });
  expect(spans().find(({ name }) => name === 'volley.execution')).toMatchObject({ status: failed });
});
