import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { createFullCoordinator } from '../../../src/mcp/open-coordinator.ts';
import { folderWith, say } from '../../cli/support/program.ts';

interface Heard {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly messages: readonly { role: string; content: string }[] } & Record<
    string,
    unknown
  >;
}

interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const KEY = 'sk-test-0123456789abcdefghij';
const SCHEMA = { type: 'object', required: ['lines'], properties: { lines: { type: 'integer' } } };

/** A model on loopback that gives these replies, and then the last one for ever. */
async function model(replies: readonly ((heard: Heard) => Reply)[]) {
  const heard: Heard[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const one = { path: request.url!, headers: request.headers, body: JSON.parse(text) };
    heard.push(one);
    const { status = 200, headers, body } = replies[Math.min(heard.length, replies.length) - 1]!(one);
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { heard, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const chat =
  (content: string, finish_reason = 'stop') =>
  () => ({
    body: {
      choices: [{ message: { role: 'assistant', content }, finish_reason }],
      usage: { prompt_tokens: 1000, completion_tokens: 100 },
    },
  });
const failing =
  (status: number, body: unknown, headers = {}) =>
  () => ({ status, headers, body });

function settings(url: string, more = ''): string {
  return `[models.fast]\nurl = "${url}/v1"\nmodel = "tiny"\nkey = "env:TEST_MODEL_KEY"\ninput_cost = 2\noutput_cost = 10\n${more}`;
}

/** A coordinator that may ask the model about files of a folder. */
async function asking(config: string, env = { TEST_MODEL_KEY: KEY }, files = {}) {
  const folder = folderWith({ 'volley.toml': config, 'a.txt': 'one\n```\ntwo\n', ...files });
  const { config: loaded } = await loadConfig({ cwd: folder, env: {}, trusted: true });
  const coordinator = await createFullCoordinator(loaded, env);
  onTestFinished(() => coordinator.close({ cancel: true }));
  return (args: object, options: object = {}) =>
    coordinator.executeSingle({ id: 'a', name: 'ask_model', arguments: args, ...options });
}

test('an OpenAI-compatible model gets the file, and its answer is data with its cost', async () => {
  const { heard, url } = await model([chat('{"lines":"three"}'), chat('```json\n{"lines":3}\n```')]);
  const ask = await asking(settings(url));
  const result = await ask({ prompt: 'Count the lines.', files: ['a.txt'], schema: SCHEMA });
  expect(result).toMatchObject({
    status: 'completed',
    value: {
      answer: { lines: 3 },
      asks: 2,
      model: 'fast',
      usage: { input_tokens: 2000, output_tokens: 200, cost_usd: 0.006 },
    },
  });
  const [first, second] = heard;
  expect(first).toMatchObject({
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${KEY}` },
    body: { model: 'tiny', max_tokens: 8192 },
  });
  // The file cannot close the block that it is in.
  expect(first!.body.messages[0]!.content).toContain('````\none\n```\ntwo\n````');
  expect(second!.body.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(second!.body.messages[2]!.content).toContain('lines');
});

test('an Anthropic model is asked in its own way', async () => {
  const { heard, url } = await model([
    () => ({
      body: {
        content: [{ type: 'text', text: 'Fine.' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 5, cache_read_input_tokens: 4, output_tokens: 3 },
      },
    }),
  ]);
  const toml = `[models.claude]\napi = "anthropic"\nurl = "${url}"\nmodel = "m"\nkey = "env:TEST_MODEL_KEY"\n`;
  const ask = await asking(toml);
  expect(await ask({ prompt: 'How is it?' })).toMatchObject({
    value: { answer: 'Fine.', usage: { input_tokens: 9, output_tokens: 3 } },
  });
  expect(heard[0]).toMatchObject({
    path: '/v1/messages',
    headers: { 'x-api-key': KEY, 'anthropic-version': expect.any(String) },
    body: { model: 'm', max_tokens: 8192 },
  });
});

test('a rate limit is waited for, and uses no attempt', async () => {
  const limited = failing(429, { error: { message: 'slow down' } }, { 'retry-after-ms': '1' });
  const { heard, url } = await model([limited, chat('ok')]);
  const ask = await asking(settings(url));
  expect(await ask({ prompt: 'Hello' }, { retry: { maxRetries: 0 } })).toMatchObject({
    status: 'completed',
    value: { answer: 'ok' },
  });
  expect(heard).toHaveLength(2);
});

test.each([
  [401, { error: { message: `bad key ${KEY}` } }, 1],
  [400, { error: { message: 'unknown model' } }, 1],
  [429, { error: { message: 'pay first', code: 'insufficient_quota' } }, 1],
  [500, 'broken', 3],
])('status %i fails the call after as many requests as make sense', async (status, body, requests) => {
  const { heard, url } = await model([failing(status, body)]);
  const ask = await asking(`${settings(url)}\n[defaults.retry]\ndelay_ms = 1\n`);
  const result = await ask({ prompt: 'Hello' });
  expect(result).toMatchObject({ status: 'failed' });
  expect(heard).toHaveLength(requests);
  expect(JSON.stringify(result)).not.toContain(KEY);
});

test('the key does not follow a redirect', async () => {
  const elsewhere = await model([chat('stolen')]);
  const { url } = await model([failing(307, '', { location: `${elsewhere.url}/v1/chat/completions` })]);
  const ask = await asking(settings(url));
  expect(await ask({ prompt: 'Hello' })).toMatchObject({ status: 'failed' });
  expect(elsewhere.heard).toEqual([]);
});

test('an answer that was cut off is asked for again', async () => {
  const { heard, url } = await model([chat('It is', 'length'), chat('Short.')]);
  const ask = await asking(settings(url));
  expect(await ask({ prompt: 'Tell me' })).toMatchObject({ value: { answer: 'Short.', asks: 2 } });
  expect(heard).toHaveLength(2);
});

test('nothing is sent about a file outside the roots', async () => {
  const { heard, url } = await model([chat('ok')]);
  const ask = await asking(settings(url));
  expect(await ask({ prompt: 'Read', files: ['../../etc/hostname'] })).toMatchObject({ status: 'failed' });
  expect(heard).toEqual([]);
});

test('answers about files are cached until the file, the prompt or the model changes', async () => {
  const { heard, url } = await model([chat('not JSON'), chat('{"lines":1}')]);
  const folder = folderWith({
    'volley.toml': settings(url),
    's.json': JSON.stringify(SCHEMA),
    'a.txt': 'a\n',
    'b.txt': 'b\n',
  });
  const run = (batch: string, prompt: string) =>
    say(
      folder,
      ['run', '--each', '*.txt', '--ask', prompt, '--model', 'fast', '--schema', 's.json', '--batch', batch],
      '',
      undefined,
      { TEST_MODEL_KEY: KEY },
    );
  expect((await run('one', 'Count {}')).status).toBe(0);
  expect(heard).toHaveLength(3);
  expect((await run('two', 'Count {}')).stdout).toContain('2 of 2 from cache');
  expect(heard).toHaveLength(3);
  writeFileSync(join(folder, 'a.txt'), 'changed\n');
  expect((await run('three', 'Count {}')).status).toBe(0);
  expect(heard).toHaveLength(4);
  expect((await run('four', 'Count again {}')).status).toBe(0);
  expect(heard).toHaveLength(6);
});

test('a budget stops new calls and leaves the rest open, over all runs', async () => {
  const { heard, url } = await model([chat('ok')]);
  const files = Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`${index}.txt`, 'x\n']));
  const folder = folderWith({ 'volley.toml': settings(url), ...files });
  const run = (budget: string) =>
    say(
      folder,
      [
        ...['run', '--each', '*.txt', '--ask', 'Read {}', '--model', 'fast', '--batch', 'b'],
        ...['--max-concurrent', '1', '--budget', budget, '--json'],
      ],
      '',
      undefined,
      { TEST_MODEL_KEY: KEY },
    );
  // Each call has 1100 tokens and costs $0.003.
  const first = await run('3k tokens');
  expect(first.status).toBe(1);
  expect(JSON.parse(first.stdout).data).toMatchObject({
    counts: { completed: 3, open: 3 },
    spending: { calls: 3, input_tokens: 3000, output_tokens: 300, cost_usd: 0.009 },
    stopped: expect.any(String),
  });
  expect(JSON.parse((await run('0.009')).stdout).data).toMatchObject({ counts: { completed: 3, open: 3 } });
  expect(heard).toHaveLength(3);
  expect(JSON.parse((await run('1')).stdout).data).toMatchObject({
    counts: { completed: 6 },
    succeeded: true,
  });
  expect(heard).toHaveLength(6);
});

test('a budget in dollars is refused where the cost is not known', async () => {
  const { heard, url } = await model([chat('ok')]);
  const toml = `[models.free]\nurl = "${url}"\nmodel = "m"\nkey = ""\n`;
  const folder = folderWith({ 'volley.toml': toml, 'a.txt': 'a', 'b.txt': 'b' });
  const args = ['run', '--each', '*.txt', '--ask', 'Read {}', '--model', 'free', '--batch', 'b', '--json'];
  const { stdout } = await say(folder, [...args, '--budget', '1', '--max-concurrent', '1']);
  expect(JSON.parse(stdout).data).toMatchObject({
    counts: { completed: 1, open: 1 },
    stopped: expect.any(String),
  });
  expect(heard).toHaveLength(1);
  expect(heard[0]!.headers.authorization).toBeUndefined();
});

test('a key that cannot be sent, or that the model repeats, is not in the error', async () => {
  const own = 'correct-horse-battery-staple';
  const { heard, url } = await model([failing(400, { error: { message: `Bad request with ${own}` } })]);
  for (const key of [own, `${own}\n${own}`]) {
    const ask = await asking(settings(url), { TEST_MODEL_KEY: key });
    const result = await ask({ prompt: 'Hello' });
    expect(result).toMatchObject({ status: 'failed', attempts: 1 });
    expect(JSON.stringify(result)).not.toContain(own);
  }
  expect(heard).toHaveLength(1);
});

test('a file with many code spans is sent', async () => {
  const { heard, url } = await model([chat('Yes.')]);
  const ask = await asking(settings(url), undefined, { 'spans.md': '`a '.repeat(150_000) });
  const result = await ask({ prompt: 'Well?', files: ['spans.md'] });
  expect(result).toMatchObject({ status: 'completed' });
  expect(heard[0]!.body.messages[0]!.content).toContain('`a');
});

test('an answer that takes too long is a failure of its call only', async () => {
  const server = createServer((_, response) => void response.writeHead(200).write(' '));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = await asking(settings(url, 'timeout_ms = 50\n'));
  const result = await ask({ prompt: 'Hello' }, { retry: { maxRetries: 0 } });
  expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED' } });
});

test.each([{ $ref: 'https://127.0.0.1/schema.json' }, { $ref: '#/$defs/none' }])(
  'nothing is paid for an answer that no schema can judge: %j',
  async (schema) => {
    const { heard, url } = await model([chat('{"lines":3}')]);
    const ask = await asking(settings(url));
    expect(await ask({ prompt: 'Count.', schema })).toMatchObject({ status: 'failed', attempts: 1 });
    expect(heard).toHaveLength(0);
  },
);
