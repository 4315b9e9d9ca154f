import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { callServer } from '../../src/server/call-server.ts';
import { runningServers } from '../../src/server/server-record.ts';
import { HeldCalls } from '../batch/support/rig.ts';
import { closed, localToken, raw, type Served, serve, TOKENS } from './support/serve.ts';

const statusOf = (answer: string) => Number(answer.split(' ')[1]);

function open({ address }: Served): Socket {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

const head = (served: Served, line: string, ...headers: string[]) =>
  [
    line,
    `Host: ${new URL(served.address).host}`,
    `Authorization: Bearer ${TOKENS.admin}`,
    ...headers,
    '',
    '',
  ].join('\r\n');

test('a client that sends its headers too slowly is cut off, and others are answered meanwhile', async () => {
  // Long enough for a slow machine to send some more of them.
  const limits = { headerTimeoutMs: 1500, requestTimeoutMs: 3000 };
  const served = await serve({ server: { limits: limits as never } });
  const slow = open(served);
  slow.write('GET /v1/batches HTTP/1.1\r\nHost: 127');
  let sent = 0;
  const drip = setInterval(() => {
    sent++;
    slow.write('.');
  }, 50);
  onTestFinished(() => clearInterval(drip));
  let answer = '';
  slow.on('data', (chunk) => {
    answer += chunk;
  });
  expect((await served.fetch('/healthz')).status).toBe(200);
  await closed(slow);
  expect(statusOf(answer)).toBe(408);
  expect(sent).toBeGreaterThan(2);
});

test('a client that sends its body too slowly is cut off', async () => {
  const limits = { headerTimeoutMs: 300, requestTimeoutMs: 600 };
  const served = await serve({ server: { limits: limits as never } });
  const slow = open(served);
  slow.write(
    head(served, 'POST /v1/batches HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 1000'),
  );
  const drip = setInterval(() => slow.write('['), 50);
  onTestFinished(() => clearInterval(drip));
  await closed(slow);
  expect((await served.fetch('/healthz')).status).toBe(200);
});

test('a client that never shakes hands is cut off', async () => {
  const file = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
  const tls = { certificate: file('localhost.crt'), key: file('localhost.key') };
  const served = await serve({ server: { tls, limits: { headerTimeoutMs: 300 } as never } });
  await closed(open(served));
});

test('no more connections are taken than the limit', async () => {
  const served = await serve({ server: { limits: { maxConnections: 3 } as never } });
  const held = [open(served), open(served), open(served)];
  await Promise.all(held.map((socket) => once(socket, 'connect')));
  const fourth = open(served);
  fourth.write(head(served, 'GET /healthz HTTP/1.1', 'Connection: close'));
  let answer = '';
  fourth.on('data', (chunk) => {
    answer += chunk;
  });
  await closed(fourth);
  expect(answer).toBe('');
  held[0]!.destroy();
  await expect
    .poll(async () =>
      statusOf(await raw(served.address, head(served, 'GET /healthz HTTP/1.1', 'Connection: close'))),
    )
    .toBe(200);
});

test('a body that is too large is refused before it is read, announced or not', async () => {
  const served = await serve({ server: { limits: { maxBodyBytes: 10_000 } as never } });
  const declared = await raw(
    served.address,
    head(served, 'POST /v1/batches HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 10001'),
  );
  expect(statusOf(declared)).toBe(413);
  expect(declared).toContain('Connection: close');
  const chunk = `${(4096).toString(16)}\r\n${' '.repeat(4096)}\r\n`;
  const chunked = await raw(
    served.address,
    head(
      served,
      'POST /v1/batches HTTP/1.1',
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ) + chunk.repeat(3),
  );
  expect(statusOf(chunked)).toBe(413);
  const stranger = await served.json('POST', '/v1/session', { key: 'x'.repeat(5000) }, { token: null });
  expect(stranger).toMatchObject({ status: 413, body: { code: 'BODY_TOO_LARGE' } });
});

test('a client that is told in the middle of sending too much can read why', async () => {
  const served = await serve({ server: { limits: { maxBodyBytes: 10_000 } as never } });
  const [record] = await runningServers(served.file);
  const body = { action: 'add', function: 'echo', params: { value: 'x'.repeat(40_000_000) } };
  await expect(callServer(record!, '/v1/actions', [], body)).rejects.toMatchObject({
    details: { status: 413 },
  });
});

test('an answer that nobody waited for is not audited as done', async () => {
  const held = new HeldCalls();
  const { fetch, lines } = await serve({ tools: [held.tool()] });
  const leaving = new AbortController();
  const answer = fetch('/v1/execute', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ calls: [{ name: 'held', arguments: { key: 'x' } }] }),
    signal: leaving.signal,
  });
  await held.started('x');
  leaving.abort();
  await expect(answer).rejects.toThrow();
  await expect.poll(() => lines).toMatchObject([{ route: '/v1/execute', status: 499 }]);
});

test('a body that is nested too deeply, not JSON, not UTF-8 or of another type is refused', async () => {
  const served = await serve();
  const post = async (body: string | Uint8Array, type = 'application/json') => {
    const response = await served.fetch('/v1/batches', {
      method: 'POST',
      body: body as never,
      headers: { 'content-type': type },
    });
    const { code, status } = (await response.json()) as { code: string; status: number };
    return `${status} ${code}`;
  };
  expect(await post('['.repeat(100_000))).toBe('400 BODY_TOO_DEEP');
  expect(await post(`{"tasks":${'{"a":'.repeat(70)}1${'}'.repeat(70)}}`)).toBe('400 BODY_TOO_DEEP');
  // Brackets inside of texts do not count.
  expect(await post(`{"tasks":[{"function":"echo","params":{"v":"${'[{\\"'.repeat(200)}"}}]}`)).not.toContain(
    'DEEP',
  );
  expect(await post('{"tasks":')).toBe('400 INVALID_JSON');
  expect(await post(new Uint8Array([0x22, 0xff, 0x22]))).toBe('400 INVALID_JSON');
  expect(await post('tasks=1', 'application/x-www-form-urlencoded')).toBe('415 UNSUPPORTED_MEDIA_TYPE');
  expect(await post('{}', 'text/plain')).toBe('415 UNSUPPORTED_MEDIA_TYPE');
  expect(await post('[]')).toBe('400 INVALID_REQUEST');
});

test('a request that breaks the schema is told every wrong field by a JSON pointer', async () => {
  const { json } = await serve();
  const { status, headers, body } = await json('POST', '/v1/batches', {
    batch: 'x',
    tasks: [{ function: 'echo' }, { function: 5, priority: 'urgent', 'a/b~c': 1 }],
  });
  expect(status).toBe(400);
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(body.code).toBe('INVALID_REQUEST');
  expect(body.errors.map((error: { pointer: string }) => error.pointer).sort()).toEqual([
    '/tasks/1/a~1b~0c',
    '/tasks/1/function',
    '/tasks/1/priority',
  ]);
  const query = await json('GET', '/v1/batches?limit=0');
  expect(query.body.errors).toMatchObject([{ in: 'query', pointer: '/limit' }]);
});

test('wrong methods are refused with those that are right, and unknown ones too', async () => {
  const served = await serve();
  const wrong = await served.json('DELETE', '/v1/batches');
  expect(wrong).toMatchObject({ status: 405, body: { code: 'METHOD_NOT_ALLOWED' } });
  expect(wrong.headers.get('allow')).toBe('GET, POST');
  const odd = await raw(served.address, head(served, 'PURGE /v1/batches HTTP/1.1', 'Connection: close'));
  expect(statusOf(odd)).toBe(405);
  const nonsense = await raw(served.address, head(served, 'BREW / HTTP/1.1', 'Connection: close'));
  expect(statusOf(nonsense)).toBe(400);
});

test('paths lead to files of the dashboard and nowhere else', async () => {
  const outer = await serve();
  const webFolder = join(outer.folder, 'web');
  mkdirSync(join(webFolder, 'assets'), { recursive: true });
  writeFileSync(join(outer.folder, 'secret.txt'), 'SECRET');
  writeFileSync(join(webFolder, 'index.html'), '<!doctype html><title>page</title>');
  writeFileSync(join(webFolder, 'assets', 'app-a1b2c3d4.js'), 'export {};'.repeat(100));
  writeFileSync(join(webFolder, 'assets', 'app.js.map'), 'SECRET');
  const served = await serve({ webFolder });
  const tricks = [
    '/../secret.txt',
    '/assets/../../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/assets/..%5c..%5csecret.txt',
    '/assets\\..\\..\\secret.txt',
    '//etc/passwd',
    '/etc/passwd',
    '/index.html%00.txt',
    '/assets/app.js.map',
    '/assets/',
    '/assets',
    '/./secret.txt',
    `/${'../'.repeat(50)}etc/passwd`,
    '/%',
    '/%c0%ae%c0%ae/secret.txt',
  ];
  for (const path of tricks) {
    const answer = await raw(
      served.address,
      `GET ${path} HTTP/1.1\r\nHost: ${new URL(served.address).host}\r\nConnection: close\r\n\r\n`,
    );
    expect([400, 404], path).toContain(statusOf(answer));
    expect(answer, path).not.toMatch(/SECRET|root:/);
  }
  const page = await served.fetch('/', { token: null });
  expect(await page.text()).toContain('page');
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('cache-control')).toBe('no-cache');
  const policy = page.headers.get('content-security-policy')!;
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/unsafe|\*/);
  const again = await served.fetch('/', {
    token: null,
    headers: { 'if-none-match': page.headers.get('etag')! },
  });
  expect(again.status).toBe(304);
  const script = await served.fetch('/assets/app-a1b2c3d4.js', { token: null });
  expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(script.headers.get('content-encoding')).toBe('gzip');
  expect(await script.text()).toContain('export {};');
  // No path of the API turns public by being written otherwise.
  for (const path of [
    '//v1/batches',
    '/v1//batches',
    '/V1/batches',
    '/./v1/batches',
    '/x/../v1/batches',
    '/%76%31/batches',
  ]) {
    const answer = await raw(
      served.address,
      `GET ${path} HTTP/1.1\r\nHost: ${new URL(served.address).host}\r\nConnection: close\r\n\r\n`,
    );
    expect([401, 404], path).toContain(statusOf(answer));
  }
});

test('without a built dashboard there is a page that says so, and the API answers', async () => {
  const rig = await serve();
  const served = await serve({ webFolder: join(rig.folder, 'nothing') });
  const page = await served.fetch('/', { token: null });
  expect(page.status).toBe(503);
  expect(await page.text()).toContain('npm run build');
  expect((await served.fetch('/v1/batches')).status).toBe(200);
});

test('nothing that a client sends becomes a header of the answer', async () => {
  const served = await serve();
  const name = 'x\r\nSet-Cookie: evil=1';
  const made = await served.json('POST', '/v1/batches', { batch: name, tasks: [{ function: 'echo' }] });
  expect(made.status).toBe(400);
  const odd = 'x"; evil="1\u{2028}é';
  const fine = await served.json('POST', '/v1/batches', { batch: odd, tasks: [{ function: 'echo' }] });
  expect(fine.headers.get('location')).toBe(`/v1/batches/${encodeURIComponent(odd)}`);
  const file = await served.fetch(`/v1/batches/${encodeURIComponent(odd)}/export`);
  expect(file.headers.get('content-disposition')).toMatch(/^attachment; filename="[\w.-]+"$/);
  const injected = await raw(
    served.address,
    head(served, 'GET /v1/batches/a%0d%0aSet-Cookie:%20evil=1 HTTP/1.1', 'Connection: close'),
  );
  expect(injected.split('\r\n\r\n')[0]).not.toMatch(/set-cookie/i);
  const smuggled = await raw(
    served.address,
    head(served, 'POST /v1/actions HTTP/1.1', 'Content-Length: 5', 'Transfer-Encoding: chunked') +
      '0\r\n\r\n',
  );
  expect(statusOf(smuggled)).toBe(400);
  const long = await raw(served.address, head(served, 'GET / HTTP/1.1', `X-Long: ${'a'.repeat(20_000)}`));
  expect(statusOf(long)).toBe(431);
});

test('every answer has the headers that keep browsers from doing more than they should', async () => {
  const served = await serve();
  for (const [path, token] of [
    ['/v1/batches', TOKENS.admin],
    ['/v1/batches', null],
    ['/healthz', null],
    ['/', null],
    ['/nothing', null],
  ] as const) {
    const { headers } = await served.fetch(path, { token });
    expect(headers.get('x-content-type-options'), path).toBe('nosniff');
    expect(headers.get('content-security-policy'), path).toContain("default-src 'none'");
    expect(headers.get('content-security-policy'), path).toContain("frame-ancestors 'none'");
    if (path === '/') expect(headers.get('referrer-policy')).toBe('no-referrer');
    if (path.startsWith('/v1')) expect(headers.get('cache-control')).toBe('no-store');
  }
});

test('clients that send too many requests are told when to come back; others are not concerned', async () => {
  const served = await serve({ server: { limits: { requestsPerSecond: 1 } as never } });
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => served.fetch('/healthz', { token: null })),
  );
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(10);
  expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(((await refused[0]!.json()) as { code: string }).code).toBe('RATE_LIMITED');
  await expect.poll(async () => (await served.fetch('/healthz', { token: null })).status).toBe(200);
});

test('strangers of the same address cannot use up what the owner may send', async () => {
  const served = await serve({ server: { limits: { requestsPerSecond: 1 } as never } });
  const strange: RequestInit[] = [
    {},
    { headers: { origin: 'https://evil.example' } },
    { headers: { authorization: 'Bearer wrong' } },
  ];
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, at) =>
      served.fetch('/v1/batches', { token: null, ...strange[at % strange.length] }),
    ),
  );
  // Neither are more refusals written to the log than there may be requests.
  expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(30);
  expect((await served.fetch('/v1/batches')).status).toBe(200);
});

test('a client may hold so many streams open, and gets a place back with each that it closes', async () => {
  const served = await serve({ server: { limits: { streams: 2 } as never } });
  const controllers = [new AbortController(), new AbortController()];
  for (const { signal } of controllers)
    expect((await served.fetch('/v1/events', { signal })).headers.get('content-type')).toBe(
      'text/event-stream; charset=utf-8',
    );
  const third = await served.json('GET', '/v1/events');
  expect(third).toMatchObject({ status: 429, body: { code: 'TOO_MANY_STREAMS' } });
  expect(third.headers.get('retry-after')).not.toBeNull();
  controllers[0]!.abort();
  const fourth = new AbortController();
  await expect
    .poll(async () => (await served.fetch('/v1/events', { signal: fourth.signal })).status)
    .toBe(200);
  fourth.abort();
  controllers[1]!.abort();
});

test('streams of MCP count like others', async () => {
  const served = await serve({ server: { limits: { streams: 1 } as never } });
  const accept = 'application/json, text/event-stream';
  const clientInfo = { name: 'test', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const begun = await served.fetch('/mcp', {
    method: 'POST',
    headers: { accept, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  await begun.text();
  const headers = { accept, 'mcp-session-id': begun.headers.get('mcp-session-id')! };
  const stream = await served.fetch('/mcp', { headers });
  expect(stream.status).toBe(200);
  expect((await served.fetch('/v1/events')).status).toBe(429);
  await stream.body!.cancel();
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const method = 'subscriptions/listen';
  const listen = { _meta, notifications: { resourcesListChanged: true } };
  const listening = () =>
    served.fetch('/mcp', {
      method: 'POST',
      headers: {
        accept,
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: listen }),
    });
  let heard = await listening();
  while (heard.status === 429) heard = await listening();
  expect(heard.status).toBe(200);
  expect((await listening()).status).toBe(429);
  expect((await served.fetch('/v1/events')).status).toBe(429);
  await heard.body!.cancel();
});

test('changes and refusals are audited, and no line, answer or event has a token or an argument in it', async () => {
  const served = await serve();
  const token = localToken(served.server);
  const key = new URL(served.server.pageAddress()).hash.slice(5);
  const signed = await served.json('POST', '/v1/session', { key }, { token: null });
  const cookie = signed.headers.get('set-cookie')!.split(';')[0]!;
  const stream = await served.fetch('/v1/events', { token });
  const reader = stream.body!.getReader();
  await served.json(
    'POST',
    '/v1/batches',
    { batch: 'work', tasks: [{ function: 'echo', params: { value: 'ARGUMENT' } }], start: {} },
    { token, headers: { 'idempotency-key': 'IDEMPOTENCY' } },
  );
  await served.executor.handle({ action: 'wait', batch: 'work' });
  await served.fetch('/v1/batches', { token: null });
  await served.fetch('/v1/batches', { token: 'volley_token_WRONG' });
  await served.json('POST', '/v1/session', { key: 'volley_key_WRONG' }, { token: null });
  await served.fetch('/v1/batches', { token: null, headers: { cookie, origin: 'https://evil.example' } });
  const { lines } = served;
  await expect.poll(() => lines).toContainEqual(expect.objectContaining({ status: 403, level: 'warn' }));
  expect(lines).toContainEqual(
    expect.objectContaining({
      event: 'audit',
      who: 'local',
      method: 'POST',
      route: '/v1/batches',
      subject: 'add 1 to work',
      status: 201,
      address: '127.0.0.1',
    }),
  );
  expect(lines).toContainEqual(expect.objectContaining({ who: null, status: 401, level: 'warn' }));
  let events = '';
  while (!events.includes('"completed":1')) events += new TextDecoder().decode((await reader.read()).value);
  await reader.cancel();
  for (const text of [JSON.stringify(lines), events]) {
    expect(text).not.toContain(token);
    expect(text).not.toContain(key);
    expect(text).not.toContain(cookie.split('=')[1]!);
    expect(text).not.toMatch(/WRONG|ARGUMENT|IDEMPOTENCY|Bearer/);
  }
});

test('tools cannot read the token that the server leaves beside its store', async () => {
  const served = await serve();
  const { body } = await served.json('POST', '/v1/execute', {
    calls: [
      { id: 'read', name: 'read_file', arguments: { path: 'volley.db-server.json' } },
      { id: 'search', name: 'search_files', arguments: { path: '.', text: 'volley_token' } },
    ],
  });
  expect(JSON.stringify(body)).not.toContain(localToken(served.server));
  expect(body.results[0]).toMatchObject({ status: 'failed', error: { code: 'PATH_NOT_ALLOWED' } });
});
