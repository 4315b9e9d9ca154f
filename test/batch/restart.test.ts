import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadStore } from '../../src/store/open/load-store.ts';
import { ownIdentity } from '../../src/store/process-identity.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { buildProgram } from '../e2e/support/built-program.ts';
import { temporaryFolder } from '../store/support/store.ts';
import { notingTools } from './support/noting-tools.ts';
import { HeldCalls, isOnPostgres, newPlace, openRig } from './support/rig.ts';

const held = (key: string) => ({ id: key, function: 'held', params: { key } });
const FIXTURE = (await buildProgram()).program('batch/fixtures/runs-until-killed');

/** The lines of a file when one of them says this. */
async function linesWith(file: string, line: string): Promise<string[]> {
  for (;;) {
    const lines = read(file);
    if (lines.includes(line)) return lines;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function read(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').trim().split('\n');
  } catch {
    return [];
  }
}

describe('a new executor on the same store', () => {
  it('goes on where the last one stopped: nothing that completed runs again', async () => {
    const file = await newPlace(temporaryFolder());
    const calls = new HeldCalls();
    const first = await openRig([calls.tool()], undefined, file);
    await first.ask('add_batch', { tasks: ['a', 'b', 'c'].map(held) });
    await first.ask('start', { max_concurrent: 1 });
    await calls.started('a');
    const closed = first.executor.close();
    calls.finish('a', 'the result');
    await closed;
    await first.store.close();

    for (const key of ['b', 'c']) calls.finish(key);
    const second = await openRig([calls.tool()], undefined, file);
    expect((await second.ask('start', { wait: true })).data).toMatchObject({ succeeded: true });
    expect(calls.begun).toEqual(['a', 'b', 'c']);
    expect((await second.ask('results', { id: 'a' })).data).toMatchObject({ result: 'the result' });
  });

  it('runs again after kill -9 what may run twice, and reports the rest as crashed', {
    timeout: 180_000,
  }, async () => {
    const folder = temporaryFolder();
    const [file, notes] = [await newPlace(folder), join(folder, 'notes')];
    const noted: string[] = [];
    const rig = await openRig(
      notingTools((line) => noted.push(line), false),
      undefined,
      file,
    );
    const task = (tool: string, key: string, more: object = {}) => ({
      id: key,
      function: tool,
      params: { key },
      ...more,
    });
    await rig.ask('add_batch', {
      tasks: [
        task('quick', 'done', { priority: 'high' }),
        task('safe', 'again'),
        task('unsafe', 'once'),
        task('quick', 'later', { depends_on: ['again'] }),
        task('quick', 'ruled-out', { depends_on: ['once'] }),
        task('quick', 'last', { depends_on: ['done', 'again'] }),
      ],
    });
    const child = spawn(process.execPath, [FIXTURE, folder, file, notes], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await linesWith(notes, 'again');
    await linesWith(notes, 'once');
    // The journal is ahead of the tools, but of a tool that may run twice it may be behind.
    await expect
      .poll(async () => (await rig.store.batch('default'))?.counts, { timeout: 60_000 })
      .toMatchObject({
        completed: 1,
        running: 2,
      });
    expect(await rig.executor.handle({ action: 'start' })).toMatchObject({
      ok: false,
      error: { code: 'BATCH_HELD', message: expect.stringContaining(`process ${child.pid}`) },
    });
    expect((await rig.ask('status')).data).toMatchObject({ state: 'elsewhere', holder: { pid: child.pid } });
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;

    const ended = await rig.ask('start', { wait: true });
    expect(ended.data).toMatchObject({ recovered: { reopened: 1, crashed: 1 } });
    expect((await rig.standing()).map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
      'done completed',
      'again completed',
      'once failed crashed',
      'later completed',
      'ruled-out skipped because',
      'last completed',
    ]);
    expect([...read(notes)].sort()).toEqual(['again', 'done', 'once']);
    expect(noted[0]).toBe('again');
    expect([...noted].sort()).toEqual(['again', 'last', 'later']);
  });

  it('counts the attempts on that failed before a crash, and begins anew when somebody asks for a retry', async () => {
    const file = await newPlace(temporaryFolder());
    const dead = await loadStore(file, { identity: { ...ownIdentity(), start: '1' } });
    const failing = defineTool({
      name: 'failing',
      idempotent: true,
      retry: { delayMs: 0 },
      run: (_, { attempt }) => {
        throw new Error(`attempt ${attempt}`);
      },
    });
    const { ask, store, standing } = await openRig([failing], undefined, file);
    const task = { function: 'failing', max_retries: 2 };
    await ask('add_batch', { tasks: ['waits', 'runs'].map((id) => ({ id, ...task })) });
    await dead.lease('default');
    const failed = { startedAt: 1, endedAt: 2, reason: 'error', message: 'no' } as const;
    for (const seq of [1, 2]) {
      await dead.started('default', seq, 1);
      await dead.attemptFailed('default', seq, failed);
      await dead.started('default', seq, 3);
    }
    await dead.attemptFailed('default', 1, failed);

    const attempts = async () => (await store.tasks('default', { limit: 9 })).map((one) => one.attempts);
    await ask('start', { wait: true });
    // Nobody knows how the second attempt of the other would have ended: it does not count.
    expect(await attempts()).toEqual([3, 4]);
    expect(await standing()).toEqual(['waits failed error: attempt 3', 'runs failed error: attempt 4']);
    await ask('retry');
    await ask('start', { wait: true });
    expect(await attempts()).toEqual([6, 7]);
    await dead.close();
  });
});

describe('two executors on one store', () => {
  it('run different batches at once, and never the same one', async () => {
    const file = await newPlace(temporaryFolder());
    const calls = new HeldCalls();
    const one = await openRig([calls.tool()], undefined, file);
    const two = await openRig([calls.tool()], undefined, file);
    await one.ask('add', { ...held('a'), batch: 'x' });
    await two.ask('add', { ...held('b'), batch: 'y' });
    await one.ask('start', { batch: 'x' });
    await two.ask('start', { batch: 'y' });
    await calls.started('a');
    await calls.started('b');
    for (const action of ['start', 'clear'])
      expect(await two.executor.handle({ action, batch: 'x' })).toMatchObject({
        error: { code: 'BATCH_HELD' },
      });
    const waited = two.ask('wait', { batch: 'x' });
    calls.finish('a');
    calls.finish('b');
    expect((await waited).data).toMatchObject({ finished: true, counts: { completed: 1 } });
  });

  it('let what one adds join what the other runs', async () => {
    const file = await newPlace(temporaryFolder());
    const calls = new HeldCalls();
    const one = await openRig([calls.tool()], undefined, file);
    const two = await openRig([], undefined, file);
    await one.ask('add', held('a'));
    await one.ask('start');
    await calls.started('a');
    const added = await two.ask('add', { id: 'b', function: 'echo', depends_on: ['a'] });
    expect(added.data).toMatchObject({ state: 'elsewhere' });
    calls.finish('a');
    await one.ask('wait');
    expect(await one.standing()).toEqual(['a completed', 'b completed']);
  });

  it('do not take one that cancels tasks for one that runs them', async () => {
    const file = await newPlace(temporaryFolder());
    const one = await openRig([], undefined, file);
    const two = await openRig([], undefined, file);
    await one.ask('add_batch', { tasks: Array.from({ length: 10_000 }, () => ({ function: 'echo' })) });
    await two.ask('add', { function: 'echo' });
    const cancelling = one.ask('cancel', { all: true });
    while ((await two.store.batch('default'))!.counts.cancelled === 0) await nextTurn();
    const added = await two.ask('add', { id: 'late', function: 'echo' });
    expect(added.data).toMatchObject({ state: 'idle' });
    expect((await cancelling).data).toMatchObject({ cancelled: 10_001 });
    expect(await two.store.task('default', 'late')).toMatchObject({ status: 'open' });
  });

  it('choose ids that do not meet', async () => {
    const file = await newPlace(temporaryFolder());
    const one = await openRig([], undefined, file);
    const two = await openRig([], undefined, file);
    const adds = [one, two, one, two, one, two].map(({ ask }) => ask('add', { function: 'echo' }));
    const ids = (await Promise.all(adds)).map(({ data }) => data['id']);
    expect(new Set(ids).size).toBe(6);
  });
});

// Its file is deleted. test/store/postgres-trouble.test.ts has the troubles of a server.
describe.skipIf(isOnPostgres)('a store that fails while a batch runs', () => {
  it('stops the batch with a clear message, and nothing is lost that was answered', async () => {
    const calls = new HeldCalls();
    const { ask, executor, store, file } = await openRig([calls.tool()]);
    await ask('add_batch', { tasks: ['a', 'b', 'c'].map(held) });
    await ask('start', { max_concurrent: 1 });
    await calls.started('a');
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
    const waited = executor.handle({ action: 'wait' });
    calls.finish('a');
    const answer = await waited;
    expect(answer.data).toMatchObject({ problem: expect.stringContaining('store') });
    expect(calls.begun).toEqual(['a']);
    expect(await executor.view()).toMatchObject({ state: expect.stringMatching(/idle|elsewhere/) });
    await store.close().catch(() => {});
  });
});
