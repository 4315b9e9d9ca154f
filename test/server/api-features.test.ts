import { expect, test } from 'vitest';
import { connectHttp } from '../mcp/server/support/http-client.ts';
import { dataOf, textOf } from '../mcp/server/support/mcp.ts';
import { put, texts } from '../tasks/support/feature.ts';
import { git } from '../tasks/workspace/support.ts';
import { serve, TOKENS } from './support/serve.ts';

/** Works until there is a file `go`, then delivers. */
const AGENT = 'cat > prompt.txt; until [ -e go ]; do sleep 0.05; done; echo x > "out-$VOLLEY_SUBTASK.txt"';

async function serveFeature() {
  const served = await serve({
    tasks: {
      agent: 'coder',
      budget: { turns: 5 },
      agents: { coder: { command: ['/bin/sh', '-c', AGENT], env: {} } },
    },
  });
  const subtasks = {
    '01': { deliverables: ['out-01.txt'] },
    '02': { deliverables: ['out-02.txt'] },
    '03': { deliverables: ['out-03.txt'], depends_on: ['01'] },
  };
  for (const [name, text] of texts(subtasks)) put(served.folder, `.tmp/tasks/auth/${name}`, text);
  return served;
}

test('over HTTP a feature is run, followed, read and completed, by those who may', async () => {
  const { json, folder, executor } = await serveFeature();
  const run = (body: object, feature = 'auth', token: string = TOKENS.run) =>
    json('POST', `/v1/features/${feature}/run`, body, { token });
  const read = (path: string) => json('GET', `/v1/features${path}`, undefined, { token: TOKENS.read });

  expect((await read('')).body.features).toEqual([
    {
      feature: 'auth',
      name: 'Sign in',
      status: 'active',
      subtask_count: 3,
      completed_count: 0,
      running: false,
    },
  ]);
  expect(await run({}, 'auth', TOKENS.read)).toMatchObject({ status: 403 });
  expect(await run({}, 'aut')).toMatchObject({ status: 404, body: { facts: { nearest: 'auth' } } });
  expect(await run({ agent: 'codex' })).toMatchObject({ status: 422, body: { code: 'AGENT_NOT_ALLOWED' } });
  expect(await run({ subtasks: ['01', '03'] })).toMatchObject({ status: 422 });
  expect(await run({ session: '../../secrets' })).toMatchObject({ status: 400 });
  expect(await run({ subtask: ['01'] })).toMatchObject({ status: 400 });
  expect(await read('/auth/report')).toMatchObject({ status: 400, body: { code: 'INVALID_VALUE' } });

  const started = await run({ subtasks: ['01', '02'] });
  expect(started).toMatchObject({ status: 202, body: { batch: 'feature-auth', state: 'running' } });
  expect(started.headers.get('location')).toBe('/v1/batches/feature-auth');
  expect((await read('/auth')).body).toMatchObject({ running: true, completed_count: 0 });
  expect((await read('/auth/report')).body).toMatchObject({ state: 'running', report: null });
  expect(await run({})).toMatchObject({ status: 409, body: { code: 'FEATURE_RUNNING' } });

  put(folder, 'go', '');
  await executor.handle({ action: 'wait', batch: 'feature-auth' });
  await expect
    .poll(async () => (await read('/auth/report')).body)
    .toMatchObject({
      state: 'ended',
      text: expect.stringContaining('ALL COMPLETED'),
      report: { status: 'completed', next: { ready: ['03'] } },
    });

  const complete = () => json('POST', '/v1/features/auth/subtasks/03/complete', { summary: 'Done by hand' });
  expect(await complete()).toMatchObject({ status: 422, body: { code: 'VERIFICATION_FAILED' } });
  put(folder, 'out-03.txt', 'x');
  expect(await complete()).toMatchObject({
    status: 200,
    body: { changed: true, subtask: { status: 'completed' } },
  });
  expect(await run({})).toMatchObject({
    status: 200,
    body: { state: 'ended', report: { status: 'nothing' } },
  });
});

test('over MCP a run that takes long goes on, tells how far it is, and is reported', async () => {
  const { address, folder } = await serveFeature();
  const { client } = await connectHttp(address, '2025-11-25');
  // From now on every answer is checked with its schema.
  await client.listTools();
  const told: unknown[] = [];
  const call = (name: string, args: Record<string, unknown>) =>
    client.callTool({ name, arguments: args }, { onprogress: ({ message }) => told.push(message) });

  expect(textOf(await call('tasks_status', {}))).toBe('[auth] Sign in: active, 0/3');
  expect(textOf(await call('tasks_report', { feature: 'auth' }))).toContain('auth');
  const running = await call('tasks_run', { feature: 'auth', wait: 0, budget: { turns: 100 } });
  expect(dataOf(running)).toMatchObject({ state: 'running', batch: 'feature-auth', counts: { failed: 0 } });
  expect(textOf(running)).toContain('tasks_report');

  const waiting = call('tasks_report', { feature: 'auth', wait: 60 });
  await expect.poll(() => told).toContain('0 of 3 completed, 2 running');
  put(folder, 'go', '');
  const report = await waiting;
  expect(dataOf(report)).toMatchObject({ state: 'ended', report: { status: 'completed' } });
  expect(textOf(report)).toContain('Subtask 03');
  expect(dataOf(await call('tasks_status', { feature: 'auth' }))).toMatchObject({ completed_count: 3 });
  expect(dataOf(await call('tasks_run', { feature: 'auth' }))).toMatchObject({
    report: { status: 'nothing' },
  });
});

test('over MCP a cancelled call cancels the run, and what is not there cannot be completed', async () => {
  const { address, executor } = await serveFeature();
  const { client } = await connectHttp(address, '2025-11-25');
  const cancelling = new AbortController();
  const run = client.callTool(
    { name: 'tasks_run', arguments: { feature: 'auth' } },
    { signal: cancelling.signal, onprogress: () => cancelling.abort() },
  );
  await expect(run).rejects.toThrow();
  await executor.handle({ action: 'wait', batch: 'feature-auth' });
  expect((await executor.view('feature-auth'))?.counts).toMatchObject({ cancelled: 3 });

  const args = { feature: 'auth', seq: '01', summary: 'I did it, believe me' };
  const complete = async () => {
    const refused = await client.callTool({ name: 'tasks_complete', arguments: args });
    expect(refused.isError).toBe(true);
    return textOf(refused);
  };
  // The subtask is in the hands of its agent until that has ended, too.
  await expect.poll(complete).toContain('out-01.txt');

  const { client: reader } = await connectHttp(address, '2025-11-25', TOKENS.read);
  const forbidden = await reader.callTool({ name: 'tasks_run', arguments: { feature: 'auth' } });
  expect(textOf(forbidden)).toContain('"run"');
});

test('over HTTP work is reviewed: its diff is read, and it is sent back and merged by those who may', async () => {
  const { json, folder } = await serveFeature();
  put(folder, '.gitignore', '.tmp\n.volley\n');
  git(folder, 'init', '-q');
  git(folder, 'add', '.gitignore');
  git(folder, 'commit', '-q', '-m', 'first');
  put(folder, 'go', '');
  const run = async () => {
    const started = await json('POST', '/v1/features/auth/run', { review: true, max_unreviewed: 2 });
    expect(started).toMatchObject({ status: 202 });
    await expect
      .poll(async () => (await json('GET', '/v1/features/auth/report')).body.state, { timeout: 60_000 })
      .toBe('ended');
  };
  const subtask = async (seq: string) =>
    (await json('GET', '/v1/features/auth')).body.subtasks.find((one: { seq: string }) => one.seq === seq);
  const review = (what: string, seq: string, body: object, token: string = TOKENS.admin) =>
    json('POST', `/v1/features/auth/subtasks/${seq}/${what}`, body, { token });
  // Its agents wait for a file that is in the commit.
  git(folder, 'add', 'go');
  git(folder, 'commit', '-q', '-m', 'second');
  await run();

  const { body: diff } = await json('GET', '/v1/features/auth/subtasks/01/diff');
  expect(diff).toMatchObject({
    agent: 'coder',
    truncated: false,
    diff: expect.stringContaining('out-01.txt'),
  });
  const { commit } = diff;
  expect(await subtask('01')).toMatchObject({ review: { commit, approved: false }, rejected: null });
  expect(await review('approve', '01', { commit }, TOKENS.run)).toMatchObject({ status: 403 });
  expect(await review('approve', '01', { commit: 'other' })).toMatchObject({ status: 409 });
  expect(await review('approve', '01', { commit })).toMatchObject({
    status: 200,
    body: { subtask: { status: 'completed', review: null } },
  });
  const second = (await subtask('02')).review.commit;
  expect(await review('reject', '02', { commit: second, why: 'Again' })).toMatchObject({
    status: 200,
    body: { subtask: { status: 'pending', rejected: 'Again' } },
  });
  expect(git(folder, 'ls-files')).toContain('out-01.txt');
});
