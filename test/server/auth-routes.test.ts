import { expect, test } from 'vitest';
import { localToken, type Served, serve, TOKENS } from './support/serve.ts';

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly isPublic: boolean;
}

/** All routes as the server describes them, with values in the place of parameters. */
async function operations({ json }: Served): Promise<Operation[]> {
  const { body } = await json('GET', '/openapi.json');
  return Object.entries(
    body.paths as Record<string, Record<string, { security?: readonly unknown[] }>>,
  ).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({
      method: method.toUpperCase(),
      path: path.replace('{batch}', 'work').replace('{id}', 'a').replace('{name}', 'echo'),
      isPublic: security?.length === 0,
    })),
  );
}

/** What changes something needs `run`, or `admin` if it is one of these. */
const ADMIN = [
  'POST /v1/batches/work/clear',
  'POST /v1/features/{feature}/subtasks/{seq}/approve',
  'POST /v1/features/{feature}/subtasks/{seq}/reject',
  'POST /v1/session/keys',
];

/** Signing out needs no scope, and that of an action depends on the action. */
const READ = ['DELETE /v1/session', 'POST /v1/actions'];

test('every route but the open ones refuses no token, a wrong one and a malformed one', async () => {
  const served = await serve();
  const all = await operations(served);
  expect(all.filter(({ isPublic }) => isPublic).map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /v1/session',
    'GET /healthz',
    'GET /readyz',
  ]);
  const secured = all.filter(({ isPublic }) => !isPublic);
  expect(secured.length).toBeGreaterThan(20);
  for (const { method, path } of secured) {
    const about = `${method} ${path}`;
    const none = await served.json(method, path, undefined, { token: null });
    expect(none, about).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    expect(none.headers.get('www-authenticate'), about).toContain('Bearer');
    const wrong = await served.fetch(path, { method, token: `${TOKENS.admin}x` });
    expect(wrong.status, about).toBe(401);
    const basic = await served.fetch(path, { method, token: null, headers: { authorization: 'Basic YTpi' } });
    expect(basic.status, about).toBe(401);
  }
});

test('every route that changes something refuses a lesser scope, and says which it needs', async () => {
  const served = await serve();
  const all = await operations(served);
  for (const { method, path, isPublic } of all) {
    if (isPublic) continue;
    const about = `${method} ${path}`;
    if (method !== 'GET' && !READ.includes(about)) {
      const needed = ADMIN.includes(about) ? 'admin' : 'run';
      const refused = await served.json(method, path, {}, { token: TOKENS.read });
      expect(refused, about).toMatchObject({ status: 403, body: { facts: { needed } } });
      const runner = await served.json(method, path, {}, { token: TOKENS.run });
      expect(runner.status === 403, about).toBe(needed === 'admin');
    } else if (!path.endsWith('events')) {
      const body = method === 'POST' ? { action: 'list' } : undefined;
      const read = await served
        .json(method, path, body, { token: TOKENS.read })
        .catch(() => ({ status: 200 }));
      expect(read.status, about).not.toBe(403);
      expect(read.status, about).not.toBe(401);
    }
  }
  for (const [action, scope] of Object.entries({
    add: 'run',
    export: 'run',
    start: 'run',
    clear: 'admin',
    no: 'run',
  })) {
    const refused = await served.json('POST', '/v1/actions', { action }, { token: TOKENS.read });
    expect(refused, action).toMatchObject({ status: 403, body: { facts: { needed: scope } } });
  }
});

test('a request of the tool needs the same scope however it is wrapped', async () => {
  const { json, lines } = await serve();
  const clear = { action: 'clear', batch: 'work' };
  for (const body of [
    clear,
    { tool_args: clear },
    { tool_args: JSON.stringify(clear) },
    { thoughts: 'none', tool_name: 'batch_executor_tool', tool_args: JSON.stringify(clear) },
  ]) {
    const refused = await json('POST', '/v1/actions', body, { token: TOKENS.run });
    expect(refused, JSON.stringify(body)).toMatchObject({
      status: 403,
      body: { facts: { needed: 'admin' } },
    });
  }
  const wrapped = { tool_args: JSON.stringify({ action: 'list' }) };
  expect((await json('POST', '/v1/actions', wrapped, { token: TOKENS.read })).status).toBe(200);
  await expect.poll(() => lines.map(({ subject }) => subject)).toContain('list');
  expect(lines.filter(({ subject }) => subject === 'clear')).toHaveLength(4);
});

test('unknown paths of the API tell strangers nothing', async () => {
  const { json } = await serve();
  expect((await json('GET', '/v1/nothing', undefined, { token: null })).status).toBe(401);
  const known = await json('GET', '/v1/batchez');
  expect(known).toMatchObject({
    status: 404,
    body: { code: 'UNKNOWN_ROUTE', facts: { nearest: '/v1/batches' } },
  });
});

test('a token in the address counts for nothing', async () => {
  const { fetch, server } = await serve();
  const token = localToken(server);
  for (const name of ['token', 'access_token', 'key'])
    expect((await fetch(`/v1/batches?${name}=${token}`, { token: null })).status).toBe(401);
});

test('the local token admits to everything, and the scopes of each are told', async () => {
  const { json, server } = await serve();
  const own = await json('GET', '/v1/session', undefined, { token: localToken(server) });
  const project = expect.any(String);
  expect(own.body).toEqual({ name: 'local', scopes: ['read', 'run', 'admin'], project, expires_at: null });
  const reader = await json('GET', '/v1/session', undefined, { token: TOKENS.read });
  expect(reader.body).toEqual({ name: 'reader', scopes: ['read'], project, expires_at: null });
});
