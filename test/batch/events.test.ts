import { describe, expect, it } from 'vitest';
import type { BatchEvent } from '../../src/batch/run/events.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { HeldCalls, openRig, type Rig } from './support/rig.ts';

/** `a started 1`, `added 1 to 2`: all that is told of a rig from now on. */
function listen({ executor }: Rig): { readonly told: string[]; readonly events: BatchEvent[] } {
  const told: string[] = [];
  const events: BatchEvent[] = [];
  executor.follow((event) => {
    events.push(event);
    if ('id' in event) told.push(`${event.id} ${event.type} ${event.attempt}`);
    else if (event.type === 'added') told.push(`added ${event.fromSeq} to ${event.toSeq}`);
    else told.push(event.type);
  });
  return { told, events };
}

/** Fails so many times, then reports and succeeds. */
function flaky(failures: number): Tool {
  let left = failures;
  return defineTool({
    name: 'flaky',
    idempotent: true,
    retry: { delayMs: 1 },
    run: (_, { report }) => {
      report(0.5, 'half way');
      if (left-- > 0) throw new Error('not yet');
      return 'at last';
    },
  }) as Tool;
}

describe('who follows an executor', () => {
  it('is told of everything that happens to the tasks of a batch, in its order', async () => {
    const rig = await openRig([flaky(1)]);
    const { told, events } = listen(rig);
    await rig.ask('add_batch', {
      tasks: [
        { id: 'a', function: 'flaky', max_retries: 2 },
        { id: 'b', function: 'broken', max_retries: 0, depends_on: ['a'] },
        { id: 'c', function: 'echo', depends_on: ['b'] },
      ],
    });
    await rig.ask('start', { wait: true });
    await expect.poll(() => told.at(-1)).toBe('batch-ended');
    expect(told).toEqual([
      'added 1 to 3',
      'batch-started',
      'a started 1',
      'a progress 1',
      'a retrying 1',
      'a started 2',
      'a progress 2',
      'a completed 2',
      'b started 1',
      'b failed 1',
      'c skipped 0',
      'batch-ended',
    ]);
    expect(events.find(({ type }) => type === 'retrying')).toMatchObject({
      batch: 'default',
      seq: 1,
      function: 'flaky',
      reason: 'error',
    });
    expect(events.find(({ type }) => type === 'failed')).toMatchObject({ seq: 2, reason: 'error' });
    expect(events.find(({ type }) => type === 'skipped')).toMatchObject({ seq: 3, cause: 'b' });
    expect(events.find(({ type }) => type === 'progress')).toMatchObject({ progress: 0.5, step: 'half way' });
  });

  it('is told of an end when it is safe in the store', async () => {
    const rig = await openRig();
    const seen: (string | undefined)[] = [];
    const look = async (id: string) => seen.push((await rig.store.task('default', id))?.status);
    rig.executor.follow((event) => {
      if (event.type === 'completed' || event.type === 'failed') void look(event.id);
    });
    await rig.ask('add', { function: 'echo' });
    await rig.ask('add', { function: 'broken' });
    await rig.ask('start', { wait: true });
    expect(seen.sort()).toEqual(['completed', 'failed']);
  });

  it('is told of what is cancelled, opened again, left for a later run, and cleared', async () => {
    const held = new HeldCalls();
    const rig = await openRig([held.tool('held', { idempotent: true })]);
    const { told } = listen(rig);
    await rig.ask('add', { id: 'a', function: 'held', params: { key: 'a' } });
    await rig.ask('cancel', { ids: ['a'] });
    await rig.ask('retry', { ids: ['a'] });
    await rig.ask('start');
    await held.started('a');
    await rig.ask('stop', { graceful: false });
    await expect.poll(() => told.at(-1)).toBe('batch-ended');
    await rig.ask('retry');
    await rig.ask('clear');
    expect(told).toEqual([
      'added 1 to 1',
      'a cancelled 0',
      'a opened 0',
      'batch-started',
      'a started 1',
      'a opened 1',
      'batch-ended',
      'changed',
      'changed',
    ]);
  });

  it('hears of no progress after the end of a task that ignores its signal', async () => {
    let isOver = false;
    const deaf = defineTool({
      name: 'deaf',
      run: async (_, { report }) => {
        for (let round = 1; !isOver; round++) {
          report(`round ${round}`);
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      },
    }) as Tool;
    const rig = await openRig([deaf]);
    const { told } = listen(rig);
    await rig.ask('add', { id: 'a', function: 'deaf' });
    await rig.ask('start');
    await expect.poll(() => told).toContain('a progress 1');
    await rig.ask('cancel', { ids: ['a'] });
    expect((await rig.executor.view())?.running).toEqual([]);
    await expect.poll(() => told).toContain('batch-ended');
    await new Promise((resolve) => setTimeout(resolve, 20));
    isOver = true;
    expect(told.slice(told.indexOf('a cancelled 1'))).toEqual(['a cancelled 1', 'batch-ended']);
  });

  it('is told nothing more when it has gone', async () => {
    const rig = await openRig();
    const told: string[] = [];
    const leave = rig.executor.follow(({ type }) => told.push(type));
    await rig.ask('add', { function: 'echo' });
    leave();
    await rig.ask('start', { wait: true });
    expect(told).toEqual(['added']);
  });

  it('is told of a failed attempt before the next one, also where that follows at once', async () => {
    const seen = new Set<string>();
    const second = defineTool<{ key: string }>({
      name: 'second',
      idempotent: true,
      retry: { maxRetries: 1, delayMs: 0 },
      run: ({ key }) => {
        if (seen.has(key)) return;
        seen.add(key);
        throw new Error('not the first time');
      },
    }) as Tool;
    const rig = await openRig([second]);
    const { told } = listen(rig);
    const tasks = Array.from({ length: 40 }, (_, place) => ({
      id: `t${place}`,
      function: 'second',
      params: { key: `${place}` },
    }));
    await rig.ask('add_batch', { batch: 'b', tasks });
    await rig.ask('start', { batch: 'b', wait: true });
    for (const { id } of tasks) {
      const own = ['started 1', 'retrying 1', 'started 2', 'completed 2'].map((what) => `${id} ${what}`);
      expect(told.filter((text) => text.startsWith(`${id} `))).toEqual(own);
      expect(await rig.store.attemptsOf('b', id)).toMatchObject([
        { attempt: 1, outcome: 'failed' },
        { attempt: 2, outcome: 'completed' },
      ]);
    }
  });
});

describe('the attempts of a task', () => {
  it('are kept with their reasons, over retries, restarts and a new start', async () => {
    const rig = await openRig([flaky(4)]);
    await rig.ask('add', { id: 'a', function: 'flaky', max_retries: 1 });
    await rig.ask('add', { id: 'b', function: 'echo' });
    await rig.ask('add', { id: 'c', function: 'echo', depends_on: ['a'] });
    await rig.ask('start', { wait: true });
    expect(await outcomes(rig, 'a')).toEqual(['1 failed: not yet', '2 failed: not yet']);
    await rig.ask('retry');
    await rig.ask('start', { wait: true });
    await rig.ask('retry');
    await rig.ask('start', { wait: true });
    expect(await outcomes(rig, 'a')).toEqual([
      '1 failed: not yet',
      '2 failed: not yet',
      '3 failed: not yet',
      '4 failed: not yet',
      '5 completed',
    ]);
    const times = (await rig.store.attemptsOf('default', 'a')).flatMap(({ startedAt, endedAt }) => [
      startedAt,
      endedAt!,
    ]);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(await outcomes(rig, 'b')).toEqual(['1 completed']);
    expect(await outcomes(rig, 'nobody')).toEqual([]);
  });

  it('are kept for a task whose id looks like that of an execution, too', async () => {
    const rig = await openRig([flaky(1)]);
    await rig.ask('add', { id: 'default#1/a', function: 'flaky', max_retries: 1 });
    await rig.ask('start', { wait: true });
    expect(await outcomes(rig, 'default#1/a')).toEqual(['1 failed: not yet', '2 completed']);
  });

  it('come in pages of tasks', async () => {
    const rig = await openRig([flaky(1)]);
    await rig.ask('add', { id: 'a', function: 'echo' });
    await rig.ask('add', { id: 'b', function: 'flaky', max_retries: 1 });
    await rig.ask('start', { wait: true });
    await rig.ask('add', { id: 'c', function: 'echo' });
    const pages: string[][] = [];
    for (let afterSeq: number | undefined = 0; afterSeq !== undefined; ) {
      const page = await rig.store.attempts('default', { afterSeq, limit: 2 });
      pages.push(page.attempts.map(({ id, attempt, outcome }) => `${id} ${attempt} ${outcome}`));
      afterSeq = page.lastSeq;
    }
    expect(pages).toEqual([['a 1 completed', 'b 1 failed', 'b 2 completed'], [], []]);
  });

  it('show what runs now', async () => {
    const held = new HeldCalls();
    const rig = await openRig([held.tool()]);
    await rig.ask('add', { id: 'a', function: 'held', params: { key: 'a' } });
    await rig.ask('start');
    await held.started('a');
    expect(await outcomes(rig, 'a')).toEqual(['1 running']);
  });
});

async function outcomes({ store }: Rig, id: string): Promise<string[]> {
  return (await store.attemptsOf('default', id)).map(
    ({ attempt, outcome, message }) => `${attempt} ${outcome}${message === undefined ? '' : `: ${message}`}`,
  );
}
