import { describe, expect, it, onTestFinished } from 'vitest';
import { BatchExecutor } from '../../src/batch/executor/batch-executor.ts';
import { loadStore } from '../../src/store/open/load-store.ts';
import { ownIdentity } from '../../src/store/process-identity.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { gate } from '../engine/support/gate.ts';
import { HeldCalls, openRig } from './support/rig.ts';

const held = (key: string, more: object = {}) => ({ id: key, function: 'held', params: { key }, ...more });

describe('start', () => {
  it('answers at once, and says so when it runs already', async () => {
    const calls = new HeldCalls();
    const { ask, executor } = await openRig([calls.tool()]);
    await ask('add', held('a'));
    const started = await ask('start', { max_concurrent: 3 });
    expect(started.data).toMatchObject({ state: 'running', submitted: 1, max_concurrent: 3 });
    expect(await executor.handle({ action: 'start' })).toMatchObject({
      ok: false,
      error: { code: 'BATCH_RUNNING' },
    });
    calls.finish('a');
    expect((await ask('wait')).data).toMatchObject({ finished: true, succeeded: true });
  });

  it('keeps to max_concurrent', async () => {
    const calls = new HeldCalls();
    const { ask } = await openRig([calls.tool()]);
    await ask('add_batch', { tasks: ['a', 'b', 'c'].map((key) => held(key)) });
    await ask('start', { max_concurrent: 2 });
    await calls.started('a');
    await calls.started('b');
    expect((await ask('status', { detailed: true })).data).toMatchObject({
      running: [{ id: 'a' }, { id: 'b' }],
      waiting: [{ id: 'c', text: expect.stringContaining('2') }],
    });
    calls.finish('a');
    await calls.started('c');
    expect((await ask('status')).data).toMatchObject({
      time_left: { low_seconds: expect.any(Number), high_seconds: expect.any(Number) },
    });
    calls.finish('b');
    calls.finish('c');
    await ask('wait');
    expect(calls.begun).toEqual(['a', 'b', 'c']);
  });

  it('has one truth in its status, right after the start and later', async () => {
    const calls = new HeldCalls();
    const { ask, executor, store } = await openRig([calls.tool('held', { idempotent: true })]);
    await ask('add_batch', { tasks: ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => held(key)) });
    await ask('start', { max_concurrent: 5 });
    await calls.started('e');
    const { data, text } = await ask('status');
    expect(data).toMatchObject({ counts: { running: 5, open: 1 }, more_running: 2 });
    expect(data['running']).toHaveLength(3);
    expect(text).toContain('Running now (5):');
    expect(text).toContain('- and 2 more');
    expect((await ask('status', { detailed: true })).data['running']).toHaveLength(5);
    expect((await ask('list')).data).toMatchObject({ batches: [{ counts: { running: 5, open: 1 } }] });
    expect(await executor.view()).toMatchObject({ counts: { running: 5, open: 1 }, total: 6 });
    // Another process sees the same as soon as it is stored.
    const other = new BatchExecutor({ coordinator: () => Promise.reject(new Error('unused')), store });
    await expect.poll(async () => (await other.view())?.counts).toMatchObject({ running: 5, open: 1 });
    const elsewhere = await other.handle({ action: 'status' });
    expect(elsewhere.data).toMatchObject({ counts: { running: 5 }, more_running: 2 });
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) calls.finish(key);
    await ask('wait');
  });

  it('chooses the concurrency by the kind of work', async () => {
    const tools = [
      defineTool({ name: 'remote', resources: { network: true }, run: () => 1 }),
      defineTool({ name: 'file', resources: { io: 'high' }, run: () => 1 }),
    ];
    const { ask } = await openRig(tools);
    await ask('add', { batch: 'a', function: 'remote' });
    await ask('add', { batch: 'b', function: 'file' });
    await ask('add_batch', { batch: 'c', tasks: [{ function: 'file' }, { function: 'remote' }] });
    const chosen: unknown[] = [];
    for (const batch of ['a', 'b', 'c']) {
      const answer = await ask('start', { batch });
      chosen.push(answer.data['max_concurrent'] ?? 'ended');
      await ask('wait', { batch });
    }
    expect(chosen).toEqual([8, 16, 12]);
  });

  it('ends the whole batch at its timeout: what has not finished failed with the reason deadline', async () => {
    const calls = new HeldCalls();
    const { ask, standing } = await openRig([calls.tool()]);
    await ask('add_batch', { tasks: [held('a'), held('b', { depends_on: ['a'] })] });
    const ended = await ask('start', { timeout: 0.05, wait: true });
    expect(ended.data).toMatchObject({ counts: { failed: 2, running: 0, open: 0 } });
    expect(await standing()).toEqual(['a failed deadline', 'b failed deadline']);
  });

  it('with fail_fast cancels the rest at the first failure', async () => {
    const calls = new HeldCalls();
    const { ask, standing } = await openRig([calls.tool()]);
    await ask('add_batch', { tasks: [held('a'), held('b')] });
    await ask('start', { fail_fast: true });
    await calls.started('b');
    calls.fail('a', 'no');
    await ask('wait');
    expect(await standing()).toEqual(['a failed error: no', 'b cancelled']);
  });

  it('retries as often as a task says, and counts its attempts', async () => {
    let calls = 0;
    const flaky = defineTool({
      name: 'flaky',
      retry: { delayMs: 1 },
      run: () => {
        if (++calls < 3) throw new Error('not yet');
        return calls;
      },
    });
    const { ask, store } = await openRig([flaky]);
    await ask('add', { id: 'x', function: 'flaky', max_retries: 3 });
    await ask('start', { wait: true });
    expect(await store.task('default', 'x')).toMatchObject({
      status: 'completed',
      attempts: 3,
      preview: '3',
    });
  });

  it('fails what its tool cannot do any more, and skips what depends on it', async () => {
    const { ask, standing, coordinator } = await openRig();
    await ask('add_batch', {
      tasks: [
        { id: 'a', function: 'echo' },
        { id: 'b', function: 'broken', depends_on: ['a'] },
      ],
    });
    coordinator.unregister('echo');
    await ask('start', { wait: true });
    expect(await standing()).toEqual(['a failed error: UNKNOWN_TOOL', 'b skipped because of a']);
  });
});

describe('status', () => {
  it('tells what runs, with its progress and step, what failed last, and the range of the time left', async () => {
    const [reported, end] = [gate(), gate()];
    const reporting = defineTool({
      name: 'reporting',
      run: (_, { report }) => {
        report(0.5, 'half way');
        reported.open();
        return end.passed;
      },
    });
    const { ask, executor } = await openRig([reporting]);
    await ask('add_batch', {
      tasks: [
        { id: 'bad', function: 'broken' },
        { id: 'r', function: 'reporting' },
        { id: 'good', function: 'echo' },
      ],
    });
    await ask('start', { max_concurrent: 3 });
    await reported.passed;
    const view = await new Promise<Awaited<ReturnType<typeof executor.view>>>((resolve) => {
      const look = async () => {
        const seen = await executor.view();
        // In a database server, what is committed is seen before its writer knows.
        const isTold = seen?.lastFailures.length === 1;
        if (isTold && seen.counts.failed === 1 && seen.counts.completed === 1) resolve(seen);
        else setImmediate(look);
      };
      void look();
    });
    expect(view).toMatchObject({
      state: 'running',
      total: 3,
      running: [{ id: 'r', function: 'reporting', progress: 0.5, step: 'half way', attempt: 1 }],
      lastFailures: [{ id: 'bad', reason: 'error', message: 'it broke', attempts: 1 }],
    });
    expect(view!.progress).toBeCloseTo(1.5 / 3);
    expect(view!.ratePerSecond).toBeGreaterThan(0);
    const status = await ask('status', { detailed: true });
    expect(await executor.status('default', true)).toMatchObject({ ok: true, action: 'status' });
    expect(await executor.status('defalt', false)).toEqual(
      await executor.handle({ action: 'status', batch: 'defalt' }),
    );
    expect(status.data).toMatchObject({ done: 1, ended: 2, percent: 50, last_failures: [{ id: 'bad' }] });
    expect(status.text).toMatch(/- r \(reporting\), .*, 50 %: half way/);
    end.open();
    await ask('wait');
  });

  it('tells listeners of each end as it comes', async () => {
    const { ask, executor } = await openRig();
    const seen: string[] = [];
    const stop = executor.follow((event) => {
      if (event.type === 'failed') seen.push(`${event.batch} ${event.id} ${event.message}`);
      if (event.type === 'completed') seen.push(`${event.batch} ${event.id}`);
    });
    await ask('add_batch', {
      tasks: [
        { id: 'a', function: 'echo' },
        { id: 'b', function: 'broken', depends_on: ['a'] },
      ],
    });
    await ask('start', { wait: true });
    stop();
    await ask('add', { id: 'c', function: 'echo' });
    await ask('start', { wait: true });
    expect(seen).toEqual(['default a', 'default b it broke']);
  });
});

describe('stop', () => {
  it('lets what runs finish and leaves the rest open, for the next start', async () => {
    const calls = new HeldCalls();
    const { ask, standing } = await openRig([calls.tool()]);
    await ask('add_batch', { tasks: [held('a'), held('b'), held('c', { depends_on: ['a'] })] });
    await ask('start', { max_concurrent: 1 });
    await calls.started('a');
    expect((await ask('stop')).data).toMatchObject({ state: 'stopping', running: 1 });
    expect((await ask('status')).data).toMatchObject({ state: 'stopping' });
    calls.finish('a');
    expect((await ask('wait')).data).toMatchObject({ finished: true });
    expect(await standing()).toEqual(['a completed', 'b open', 'c open']);
    calls.finish('b');
    calls.finish('c');
    await ask('start', { wait: true });
    expect(await standing()).toEqual(['a completed', 'b completed', 'c completed']);
    expect(calls.begun).toEqual(['a', 'b', 'c']);
  });

  it('counts for a batch that is only being started', async () => {
    const { ask, coordinator, store, standing } = await openRig();
    const asked = gate<void>();
    const opened = gate<void>();
    const executor = new BatchExecutor({
      store,
      // Tools take their time to be loaded.
      coordinator: async () => {
        asked.open();
        await opened.passed;
        return coordinator;
      },
    });
    await ask('add', { id: 'a', function: 'echo' });
    const started = executor.handle({ action: 'start', wait: true });
    await asked.passed;
    const stopped = executor.handle({ action: 'stop', graceful: false });
    opened.open();
    const idle = { ok: true, data: { state: 'idle', counts: { open: 1 } } };
    expect(await Promise.all([started, stopped])).toMatchObject([idle, idle]);
    expect(await standing()).toEqual(['a open']);
  });

  it('leaves a task open that would be tried again', async () => {
    const calls = new HeldCalls();
    const { ask, standing } = await openRig([calls.tool()]);
    await ask('add', held('a', { max_retries: 3 }));
    await ask('start');
    await calls.started('a');
    await ask('stop');
    calls.fail('a', 'not yet');
    await ask('wait');
    expect(await standing()).toEqual(['a open']);
  });

  it('at once ends what runs: it stays open if it may run twice, and is cancelled if not', async () => {
    const calls = new HeldCalls();
    const { ask, standing } = await openRig([calls.tool(), calls.tool('safe', { idempotent: true })]);
    await ask('add_batch', {
      tasks: [held('a'), { id: 'b', function: 'safe', params: { key: 'b' } }, { id: 'c', function: 'echo' }],
    });
    await ask('start', { max_concurrent: 2 });
    await calls.started('a');
    await calls.started('b');
    const stopped = await ask('stop', { graceful: false });
    expect(stopped.data).toMatchObject({ state: 'idle', counts: { open: 2, cancelled: 1, running: 0 } });
    expect(await standing()).toEqual(['a cancelled', 'b open', 'c open']);
  });
});

describe('cancel', () => {
  it('ends tasks that run or wait, and what depends on them is skipped', async () => {
    const calls = new HeldCalls();
    const { ask, standing } = await openRig([calls.tool()]);
    await ask('add_batch', {
      tasks: [held('a'), held('b'), held('c', { depends_on: ['a'] }), held('d')],
    });
    await ask('start', { max_concurrent: 2 });
    await calls.started('b');
    expect((await ask('cancel', { ids: ['a', 'd'] })).data).toMatchObject({ cancelled: 2 });
    expect(await standing()).toEqual(['a cancelled', 'b running', 'c skipped because of a', 'd cancelled']);
    expect((await ask('cancel', { all: true })).data).toMatchObject({ cancelled: 1 });
    await ask('wait');
  });

  it('ends what a dead process has left, of which nobody says that it has ended', async () => {
    const { ask, file, standing } = await openRig([new HeldCalls().tool('safe', { idempotent: true })]);
    await ask('add_batch', {
      tasks: [
        { id: 'a', function: 'safe', params: { key: 'a' } },
        { id: 'b', function: 'echo' },
      ],
    });
    const dead = await loadStore(file, { identity: { ...ownIdentity(), start: '1' } });
    onTestFinished(() => dead.close().catch(() => undefined));
    await dead.lease('default');
    for (const seq of [1, 2]) await dead.started('default', seq, 1);
    const told = 'is not running: the process that ran it died. It has 2 tasks: 2 running.';
    for (const action of ['wait', 'stop']) expect((await ask(action)).text).toContain(told);
    expect((await ask('cancel', { all: true })).data).toMatchObject({ cancelled: 1, counts: { running: 0 } });
    expect(await standing()).toEqual(['a cancelled', 'b failed crashed']);
  });

  it('ends open tasks of a batch that does not run', async () => {
    const { ask, standing } = await openRig();
    await ask('add_batch', { tasks: ['a', 'b', 'c'].map((id) => ({ id, function: 'echo' })) });
    await ask('cancel', { ids: ['b'] });
    await ask('cancel', { all: true });
    expect((await standing()).every((text) => text.endsWith('cancelled'))).toBe(true);
    expect((await ask('retry')).data).toMatchObject({ reopened: 3, state: 'idle' });
  });
});

describe('retry', () => {
  it('runs again only what failed and what was skipped because of it', async () => {
    const ran: string[] = [];
    let isBroken = true;
    const tool = defineTool<{ key: string; fails?: boolean }>({
      name: 'sometimes',
      run: ({ key, fails }) => {
        ran.push(key);
        if (fails === true && isBroken) throw new Error('no');
        return key;
      },
    });
    const { ask, standing } = await openRig([tool]);
    const task = (key: string, more: object = {}) => ({
      id: key,
      function: 'sometimes',
      params: { key },
      ...more,
    });
    await ask('add_batch', {
      tasks: [
        task('good'),
        { ...task('bad'), params: { key: 'bad', fails: true } },
        task('after', { depends_on: ['bad'] }),
        { ...task('worse'), params: { key: 'worse', fails: true } },
      ],
    });
    await ask('start', { wait: true, max_concurrent: 1 });
    isBroken = false;
    expect((await ask('retry', { ids: ['bad'] })).data).toMatchObject({ reopened: 2 });
    await ask('start', { wait: true });
    expect(await standing()).toEqual([
      'good completed',
      'bad completed',
      'after completed',
      'worse failed error: no',
    ]);
    await ask('retry', { all: true });
    await ask('start', { wait: true });
    expect(await standing()).toContain('worse completed');
    expect([ran.slice(0, 3).sort(), ran.slice(3)]).toEqual([
      ['bad', 'good', 'worse'],
      ['bad', 'after', 'worse'],
    ]);
  });

  it('comes before what is added and depends on it, though the run has not heard of it yet', async () => {
    const calls = new HeldCalls();
    let tries = 0;
    const second = defineTool({
      name: 'second',
      run: () => {
        if (++tries === 1) throw new Error('not yet');
        return tries;
      },
    });
    const { ask, store, standing } = await openRig([calls.tool(), second]);
    await ask('add_batch', { tasks: [{ id: 'a', function: 'second' }, held('long')] });
    await ask('start');
    await expect.poll(standing, { timeout: 60_000 }).toContain('a failed error: not yet');
    // As another process does, before it tells the one that runs the batch.
    await store.reopen('default', ['a']);
    await ask('add', { id: 'next', function: 'echo', depends_on: ['a'] });
    calls.finish('long');
    await ask('wait');
    expect(await standing()).toEqual(['a completed', 'long completed', 'next completed']);
  });

  it('joins the batch while it runs', async () => {
    const calls = new HeldCalls();
    let isBroken = true;
    const tool = defineTool({
      name: 'mended',
      run: () => {
        if (isBroken) throw new Error('no');
      },
    });
    const { ask, executor, standing } = await openRig([calls.tool(), tool]);
    await ask('add_batch', { tasks: [held('a'), { id: 'b', function: 'mended' }] });
    const failed = new Promise((resolve) => {
      executor.follow(({ type }) => type === 'failed' && resolve(type));
    });
    await ask('start');
    await failed;
    isBroken = false;
    expect((await ask('retry')).data).toMatchObject({ reopened: 1, state: 'running' });
    calls.finish('a');
    await ask('wait');
    expect(await standing()).toEqual(['a completed', 'b completed']);
  });
});

describe('explain', () => {
  it('names no group of the engine that nobody has made', async () => {
    const calls = new HeldCalls();
    const { ask, executor } = await openRig([calls.tool()]);
    await ask('add_batch', { tasks: [held('a'), held('b')] });
    await ask('start', { max_concurrent: 1 });
    await calls.started('a');
    const text = await executor.explain('default', 'b');
    expect(text).toContain('1 of at most 1 running');
    expect(text).not.toMatch(/#\d|group/);
    calls.finish('a');
    calls.finish('b');
    await ask('wait');
  });
});

describe('wait', () => {
  it('gives up after its timeout and says how the batch stands', async () => {
    const calls = new HeldCalls();
    const { ask } = await openRig([calls.tool()]);
    await ask('add', held('a'));
    await ask('start');
    await calls.started('a');
    expect((await ask('wait', { timeout: 0.01 })).data).toMatchObject({ finished: false, state: 'running' });
    calls.finish('a');
    expect((await ask('wait')).data).toMatchObject({ finished: true });
  });
});

describe('clear', () => {
  it('keeps what still runs or is needed', async () => {
    const calls = new HeldCalls();
    const { ask, executor, standing } = await openRig([calls.tool()]);
    await ask('add_batch', {
      tasks: [
        { id: 'done', function: 'echo' },
        { id: 'other', function: 'echo' },
        held('a', { depends_on: ['done'] }),
      ],
    });
    await ask('start');
    await calls.started('a');
    expect(await executor.handle({ action: 'clear' })).toMatchObject({
      ok: false,
      error: { code: 'BATCH_RUNNING' },
    });
    expect(await executor.handle({ action: 'clear', filter_status: 'completed' })).toMatchObject({
      ok: false,
      error: { code: 'INVALID_REQUEST' },
      data: { id: 'a' },
    });
    calls.finish('a');
    await ask('wait');
    expect((await ask('clear', { filter_status: ['completed', 'failed'] })).data).toMatchObject({
      cleared: 3,
    });
    expect(await standing()).toEqual([]);
  });
});

describe('close()', () => {
  it('lets what runs finish, writes it down and gives the lease back', async () => {
    const calls = new HeldCalls();
    const { ask, executor, store, standing } = await openRig([calls.tool()]);
    await ask('add_batch', { tasks: [held('a'), held('b')] });
    await ask('start', { max_concurrent: 1 });
    await calls.started('a');
    const closed = executor.close();
    calls.finish('a');
    await closed;
    expect(await standing()).toEqual(['a completed', 'b open']);
    expect(await store.batch('default')).toMatchObject({ holder: undefined, endedAt: expect.any(Number) });
    expect(await executor.handle({ action: 'start' })).toMatchObject({
      ok: false,
      error: { code: 'RUNNER_CLOSED' },
    });
  });
});
