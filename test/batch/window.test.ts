import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunSizes } from '../../src/batch/run/batch-run.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { buildProgram } from '../e2e/support/built-program.ts';
import { temporaryFolder } from '../store/support/store.ts';
import { amount } from '../support/depth.ts';
import { notingTools } from './support/noting-tools.ts';
import { HeldCalls, newPlace, openRig } from './support/rig.ts';

const SIZES: RunSizes = { whole: 3, ready: 2, blocked: 2 };
const FIXTURE = (await buildProgram()).program('batch/fixtures/runs-until-killed');

/** A tool that notes its keys and fails for some. */
function noting(begun: string[], fails: (key: string) => boolean = () => false): Tool {
  return defineTool<{ key: string }>({
    name: 'note',
    idempotent: true,
    retry: { maxRetries: 0 },
    run: ({ key }) => {
      begun.push(key);
      if (fails(key)) throw new Error(`${key} broke`);
      return key;
    },
  }) as Tool;
}

const note = (key: string, more: object = {}) => ({ id: key, function: 'note', params: { key }, ...more });
const names = (count: number) => Array.from({ length: count }, (_, index) => `t${index}`);

/** Numbers from 0 to 1 that follow from a seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function randomTasks(seed: number, count: number) {
  const random = randomFrom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const ids = names(count);
  return ids.map((id, index) => {
    const others = ids.filter((_, other) => other !== index && random() < 2 / count);
    // Some depend on tasks that come later, but never in a circle.
    const dependsOn = others.filter((other) => order(other) < order(id));
    return note(id, {
      depends_on: dependsOn,
      priority: pick(['critical', 'normal', 'normal', 'background']),
      on_dependency_failure: pick(['skip', 'skip', 'run', 'on-failure']),
    });
  });
}

/** Some order that is not that of the list. */
function order(id: string): number {
  return (Number(id.slice(1)) * 7) % 31;
}

describe('a batch that is larger than its window', () => {
  it.each(Array.from({ length: amount({ quick: 2, deep: 60 }) }, (_, seed) => seed + 1))(
    'ends like the same batch submitted whole, with seed %i',
    async (seed) => {
      const fails = (key: string) => order(key) % 6 === 1;
      const run = async (sizes: RunSizes | undefined) => {
        const begun: string[] = [];
        const { ask, standing } = await openRig([noting(begun, fails)], undefined, undefined, sizes);
        await ask('add_batch', { tasks: randomTasks(seed, 30) });
        await ask('start', { wait: true, max_concurrent: 3 });
        const ends = (await standing()).map((line) => line.split(' ').slice(0, 2).join(' '));
        return { ends, begun };
      };
      const [whole, inParts] = [await run(undefined), await run(SIZES)];
      expect(inParts.ends).toEqual(whole.ends);
      expect([...inParts.begun].sort()).toEqual([...whole.begun].sort());
      for (const { id, depends_on } of randomTasks(seed, 30) as { id: string; depends_on?: string[] }[]) {
        const at = inParts.begun.indexOf(id);
        for (const other of depends_on ?? [])
          if (at >= 0) expect(inParts.begun.indexOf(other)).toBeLessThan(at);
      }
    },
  );

  it('starts the more urgent tasks first, and with them what they wait for', async () => {
    const begun: string[] = [];
    const { ask } = await openRig([noting(begun)], undefined, undefined, SIZES);
    const low = names(12).map((id) => note(id, { priority: 'low' }));
    await ask('add_batch', {
      tasks: [...low, note('last', { priority: 'critical', depends_on: ['t9'] }), note('normal')],
    });
    await ask('start', { wait: true, max_concurrent: 1 });
    expect(begun.slice(0, 3)).toEqual(['t9', 'last', 'normal']);
    expect(begun.slice(3)).toEqual(names(12).filter((id) => id !== 't9'));
  });

  it('starts the task with the longer chain behind it first', async () => {
    const begun: string[] = [];
    const { ask } = await openRig([noting(begun)], undefined, undefined, { whole: 0, ready: 1, blocked: 1 });
    await ask('add_batch', {
      tasks: [
        ...names(6).map((id) => note(id)),
        note('first'),
        note('second', { depends_on: ['first'] }),
        note('third', { depends_on: ['second'] }),
      ],
    });
    await ask('start', { wait: true, max_concurrent: 1 });
    expect(begun[0]).toBe('first');
  });

  it('lets an urgent task that becomes ready pass those that are loaded', async () => {
    const calls = new HeldCalls();
    const begun: string[] = [];
    const { ask } = await openRig([noting(begun), calls.tool()], undefined, undefined, {
      whole: 0,
      ready: 4,
      blocked: 0,
    });
    const held = (key: string, more: object) => ({ id: key, function: 'held', params: { key }, ...more });
    await ask('add_batch', {
      tasks: [
        held('a', { priority: 'critical' }),
        note('urgent', { depends_on: ['a'], priority: 'critical' }),
        ...names(20).map((id) => note(id, { depends_on: ['a'], priority: 'low' })),
      ],
    });
    await ask('start', { max_concurrent: 1 });
    await calls.started('a');
    calls.finish('a');
    await ask('wait');
    expect(begun[0]).toBe('urgent');
    expect(begun).toHaveLength(21);
  });

  it('skips what depends on a failed task, with the root cause, however far away it is', async () => {
    const begun: string[] = [];
    const { ask, standing } = await openRig(
      [noting(begun, (key) => key === 'root')],
      undefined,
      undefined,
      SIZES,
    );
    await ask('add_batch', {
      tasks: [
        note('root', { priority: 'low' }),
        ...names(8).map((id) => note(id)),
        note('child', { depends_on: ['root'] }),
        note('grandchild', { depends_on: ['child', 't7'] }),
        note('instead', { depends_on: ['grandchild'], on_dependency_failure: 'on-failure' }),
      ],
    });
    await ask('start', { wait: true, max_concurrent: 1 });
    expect((await standing()).filter((line) => !line.endsWith(' completed'))).toEqual([
      'root failed error: root broke',
      'child skipped because of root',
      'grandchild skipped because of root',
    ]);
    expect(begun).toContain('instead');
  });

  it('cancels all others after the first failure with fail_fast', async () => {
    const begun: string[] = [];
    const { ask, store } = await openRig([noting(begun, (key) => key === 't2')], undefined, undefined, SIZES);
    await ask('add_batch', { tasks: names(40).map((id) => note(id)) });
    await ask('start', { wait: true, max_concurrent: 1, fail_fast: true });
    expect(begun.length).toBeLessThan(10);
    const { counts } = (await store.batch('default'))!;
    expect(counts).toMatchObject({ failed: 1, open: 0, running: 0 });
    expect(counts.completed + counts.cancelled).toBe(39);
    expect((await store.task('default', 't39'))?.message).toContain('t2 failed');
    expect((await ask('retry')).data).toMatchObject({ counts: { open: 40 - counts.completed } });
  });

  it('fails what was not started within the time limit of the batch', async () => {
    const calls = new HeldCalls();
    const { ask, store } = await openRig([calls.tool()], undefined, undefined, SIZES);
    await ask('add_batch', {
      tasks: names(20).map((id) => ({ id, function: 'held', params: { key: id } })),
    });
    await ask('start', { wait: true, max_concurrent: 1, timeout: 0.2 });
    expect((await store.batch('default'))?.counts).toMatchObject({ failed: 20, open: 0 });
    const reasons = (await store.tasks('default', { limit: 100 })).map(({ reason }) => reason);
    expect(new Set(reasons)).toEqual(new Set(['deadline']));
  });

  it('is cancelled whole, or a single task that is not loaded yet', async () => {
    const calls = new HeldCalls();
    const { ask, standing } = await openRig([calls.tool()], undefined, undefined, SIZES);
    const held = (key: string, more: object = {}) => ({
      id: key,
      function: 'held',
      params: { key },
      ...more,
    });
    await ask('add_batch', {
      tasks: [
        held('t0', { priority: 'high' }),
        ...names(20)
          .slice(1)
          .map((id) => held(id)),
        held('after', { depends_on: ['t19'] }),
      ],
    });
    const started = await ask('start', { max_concurrent: 1 });
    expect(started.data).toMatchObject({ submitted: 21 });
    await calls.started('t0');
    expect((await ask('cancel', { ids: ['t19'] })).data).toMatchObject({ cancelled: 1 });
    await expect.poll(async () => (await standing()).at(-1)).toBe('after skipped because of t19');
    expect((await ask('cancel', { all: true })).data).toMatchObject({
      cancelled: 19,
      counts: { cancelled: 20, skipped: 1, open: 0 },
    });
    expect(calls.begun).toEqual(['t0']);
  });

  it('is stopped, continued, and takes tasks that are added and retried meanwhile', async () => {
    const calls = new HeldCalls();
    const tool = calls.tool('held', { retry: { maxRetries: 0 } });
    const { ask, store, executor } = await openRig([tool], undefined, undefined, SIZES);
    const held = (key: string, more: object = {}) => ({
      id: key,
      function: 'held',
      params: { key },
      ...more,
    });
    await ask('add_batch', { tasks: names(10).map((id) => held(id)) });
    await ask('start', { max_concurrent: 1 });
    await calls.started('t0');
    const stopping = ask('stop');
    await expect.poll(async () => (await executor.view())?.state).toBe('stopping');
    calls.finish('t0');
    await stopping;
    await ask('wait');
    expect((await store.batch('default'))?.counts).toMatchObject({ completed: 1, open: 9 });

    await ask('start', { max_concurrent: 1 });
    await calls.started('t1');
    calls.fail('t1', 'broken');
    await calls.started('t2');
    await expect.poll(async () => (await store.batch('default'))?.counts.failed).toBe(1);
    const added = [...names(10).map((id) => held(`n-${id}`)), held('last', { depends_on: ['t9', 'n-t0'] })];
    await ask('add_batch', { tasks: added });
    await ask('retry', { ids: ['t1'] });
    // Its gate has failed for good.
    for (const { id } of added) calls.finish(id);
    for (const id of names(10)) calls.finish(id);
    await ask('wait');
    expect((await store.batch('default'))?.counts).toMatchObject({ completed: 20, failed: 1, open: 0 });
    expect(calls.begun.filter((key) => key === 't1')).toHaveLength(2);
    expect(calls.begun.filter((key) => key !== 't1')).toHaveLength(20);
    expect(calls.begun.indexOf('last')).toBeGreaterThan(calls.begun.indexOf('t9'));
  });

  it('explains tasks that are not loaded yet, and its status counts them', async () => {
    const calls = new HeldCalls();
    const { ask, executor } = await openRig([calls.tool()], undefined, undefined, SIZES);
    const held = (key: string, more: object = {}) => ({
      id: key,
      function: 'held',
      params: { key },
      ...more,
    });
    await ask('add_batch', {
      tasks: [
        held('t0', { priority: 'high' }),
        ...names(20)
          .slice(1)
          .map((id) => held(id)),
        ...names(6).map((_, index) =>
          held(`c${index}`, index === 0 ? {} : { depends_on: [`c${index - 1}`] }),
        ),
      ],
    });
    await ask('start', { max_concurrent: 1 });
    await calls.started('t0');
    expect(await executor.explain('default', 't18')).toMatch(/^Ready.* \d+ tasks to come/);
    expect(await executor.explain('default', 'c5')).toContain('waiting for c4 (open)');
    expect((await ask('status', { detailed: true })).data).toMatchObject({
      total: 26,
      counts: { running: 1, open: 25 },
    });
    await ask('cancel', { all: true });
  });

  it('runs groups and what depends on them', async () => {
    const begun: string[] = [];
    const { ask, standing } = await openRig([noting(begun)], undefined, undefined, {
      whole: 0,
      ready: 1,
      blocked: 1,
    });
    await ask('add_batch', {
      tasks: [
        ...names(6).map((id) => note(id)),
        { id: 'each', function: 'note', params: { key: '${item}' }, for_each: '[t5, "b", "c"]' },
        note('after', { params: { key: '${each[2]}-after' }, depends_on: ['each'] }),
      ],
    });
    expect((await ask('start', { wait: true, max_concurrent: 2 })).data).toMatchObject({ succeeded: true });
    expect(await standing()).toHaveLength(11);
    expect(begun.slice(-1)).toEqual(['c-after']);
  });

  it('continues after kill -9: nothing is lost, and nothing that completed runs again', {
    timeout: 180_000,
  }, async () => {
    const folder = temporaryFolder();
    const [file, notes] = [await newPlace(folder), join(folder, 'notes')];
    const noted: string[] = [];
    const tools = notingTools((line) => noted.push(line), false);
    const rig = await openRig(tools, undefined, file, SIZES);
    const task = (tool: string, key: string, more: object = {}) => ({
      id: key,
      function: tool,
      params: { key },
      ...more,
    });
    const before = names(15).map((id) => task('quick', id, { priority: 'high' }));
    const later = names(15).map((id) => task('quick', `later-${id}`, { depends_on: [id, 'again'] }));
    await rig.ask('add_batch', {
      tasks: [
        ...before,
        task('safe', 'again'),
        task('unsafe', 'once'),
        task('quick', 'ruled-out', { depends_on: ['once', 'later-t14'] }),
        ...later,
      ],
    });
    const child = spawn(process.execPath, [FIXTURE, folder, file, notes, JSON.stringify(SIZES)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await expect
      .poll(async () => (await rig.store.batch('default'))?.counts, { timeout: 120_000 })
      .toMatchObject({ completed: 15, running: 2, open: 16 });
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;

    const ended = await rig.ask('start', { wait: true, max_concurrent: 2 });
    expect(ended.data).toMatchObject({ recovered: { reopened: 1, crashed: 1 } });
    expect((await rig.store.batch('default'))?.counts).toMatchObject({
      completed: 31,
      failed: 1,
      skipped: 1,
      open: 0,
    });
    expect(await rig.standing()).toContain('ruled-out skipped because of once');
    const quick = [...readFileSync(notes, 'utf8').trim().split('\n'), ...noted].filter((key) =>
      key.includes('t'),
    );
    expect(quick.sort()).toEqual([...names(15), ...names(15).map((id) => `later-${id}`)].sort());
  });
});
