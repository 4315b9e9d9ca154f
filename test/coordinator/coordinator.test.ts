import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ToolCall } from '../../src/coordinator/call.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { gate } from '../engine/support/gate.ts';
import { broken, echo, openTestCoordinator, summary } from './support.ts';

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'nothing',
    (error) => `${error.code}: ${error.message}`,
  );

describe('executeParallel()', () => {
  it('gives a result for every call, in the order of the calls, whatever becomes of the others', async () => {
    const { coordinator } = openTestCoordinator();
    const entry = gate();
    coordinator.register(
      echo,
      broken,
      defineTool({ name: 'slow', run: () => entry.passed }),
      defineTool({ name: 'last', run: () => entry.open() }),
    );
    const results = await coordinator.executeParallel([
      { id: 'a', name: 'slow' },
      { id: 'b', name: 'broken' },
      { id: 'c', name: 'echo', arguments: { x: 1 } },
      { id: 'd', name: 'nobody' },
      { id: 'e', name: 'last', dependsOn: ['c'] },
      { id: 'f', name: 'echo', dependsOn: ['b'] },
      { id: 'g', name: 'echo', dependsOn: ['d'], arguments: {} },
    ]);
    expect(results.map(summary)).toEqual([
      'a: completed undefined',
      'b: failed error: it broke',
      'c: completed {"x":1}',
      'd: failed error: UNKNOWN_TOOL',
      'e: completed undefined',
      'f: skipped because of b',
      'g: skipped because of d',
    ]);
    expect(results[1]).toMatchObject({ name: 'broken', attempts: 1, error: { name: 'TypeError' } });
    expect(results[3]).toMatchObject({ attempts: 0, error: { code: 'UNKNOWN_TOOL' } });
  });

  it('gives nothing for nothing', async () => {
    const { coordinator } = openTestCoordinator();
    expect(await coordinator.executeParallel([])).toEqual([]);
  });

  it('hands results on: a reference is a dependency', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(
      echo,
      defineTool({ name: 'count', input: z.object({ of: z.array(z.string()) }), run: ({ of }) => of.length }),
    );
    const results = await coordinator.executeParallel([
      { id: 'size', name: 'count', arguments: { of: { $from: 'list', path: '/items' } } },
      { id: 'text', name: 'echo', arguments: { text: '${size} items, the first ${list.items.0}' } },
      { id: 'list', name: 'echo', arguments: { items: ['x', 'y'] } },
    ]);
    expect(results.map(summary)).toEqual([
      'size: completed 2',
      'text: completed {"text":"2 items, the first x"}',
      'list: completed {"items":["x","y"]}',
    ]);
  });

  it('fails a call whose reference leads nowhere, and says which path of which result', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(echo, broken);
    const results = await coordinator.executeParallel([
      { id: 'a', name: 'echo', arguments: { x: 1 } },
      { id: 'b', name: 'echo', arguments: { y: { $from: 'a', path: '/z' } } },
      { id: 'c', name: 'broken' },
      { id: 'd', name: 'echo', arguments: '${c}', onDependencyFailure: 'run' },
      { id: 'e', name: 'echo', arguments: { $from: 'nobody' } },
    ]);
    expect(results.slice(1).map(summary)).toEqual([
      'b: failed error: UNRESOLVED_REFERENCE',
      'c: failed error: it broke',
      'd: failed error: UNRESOLVED_REFERENCE',
      'e: failed error: UNKNOWN_DEPENDENCY',
    ]);
  });

  it('starts nothing of a call whose arguments break the schema, and names tool, field and rule', async () => {
    const { coordinator } = openTestCoordinator();
    let started = 0;
    const run = () => ++started;
    coordinator.register(
      defineTool({ name: 'resize', input: z.object({ size: z.number().int() }), run }),
      defineTool({ name: 'rename', input: { type: 'object', required: ['to'] }, run }),
      echo,
    );
    const results = await coordinator.executeParallel([
      { id: 'a', name: 'resize', arguments: { size: 'big' } },
      { id: 'b', name: 'rename' },
      { id: 'c', name: 'resize', arguments: { size: { $from: 'd', path: '/half' } } },
      { id: 'd', name: 'echo', arguments: { half: 0.5 } },
    ]);
    expect(results[0]).toMatchObject({
      status: 'failed',
      attempts: 0,
      error: {
        code: 'INVALID_ARGUMENTS',
        message: expect.stringMatching(/resize.*\/size.*number/),
      },
    });
    expect(results[1]).toMatchObject({
      error: { code: 'INVALID_ARGUMENTS', message: expect.stringMatching(/rename.*\/to/) },
    });
    expect(results[2]).toMatchObject({
      error: { code: 'INVALID_ARGUMENTS', message: expect.stringMatching(/resize.*\/size/) },
    });
    expect(started).toBe(0);
  });

  it('checks what a tool promises to return', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(
      defineTool({ name: 'half', output: z.object({ n: z.number() }), run: () => ({ n: 'one' }) as never }),
    );
    expect(await coordinator.executeSingle({ name: 'half' })).toMatchObject({
      status: 'failed',
      error: { code: 'INVALID_RESULT' },
    });
  });

  it('runs identical read-only calls of one list once', async () => {
    const { coordinator } = openTestCoordinator();
    const calls: unknown[] = [];
    const run = (input: unknown) => {
      calls.push(input);
      return calls.length;
    };
    coordinator.register(
      defineTool({ name: 'look', readOnly: true, run }),
      defineTool({ name: 'touch', run }),
      echo,
    );
    const results = await coordinator.executeParallel([
      { id: 'a', name: 'look', arguments: { p: 1, q: 2 } },
      { id: 'b', name: 'look', arguments: { q: 2, p: 1 } },
      { id: 'c', name: 'look', arguments: { p: 1, q: 2 }, dependsOn: ['d'] },
      { id: 'd', name: 'touch', arguments: {}, dependsOn: ['a'] },
      { id: 'e', name: 'touch', arguments: {}, dependsOn: ['c'] },
      { id: 'f', name: 'echo', arguments: { of: { $from: 'b' } } },
    ]);
    expect(results.map(summary)).toEqual([
      'a: completed 1',
      'b: completed 1',
      'c: completed 3',
      'd: completed 2',
      'e: completed 4',
      'f: completed {"of":1}',
    ]);
    expect(results.map(({ sharedWith }) => sharedWith)).toEqual([
      undefined,
      'a',
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(calls).toHaveLength(4);
  });

  it('lets a call say otherwise than its tool', async () => {
    const { coordinator } = openTestCoordinator();
    let attempts = 0;
    coordinator.register(
      defineTool({
        name: 'flaky',
        run: () => {
          if (++attempts < 3) throw new Error('again');
          return attempts;
        },
      }),
      defineTool({
        name: 'endless',
        run: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      }),
    );
    const results = await coordinator.executeParallel([
      { id: 'a', name: 'flaky', retry: { maxRetries: 2, delayMs: 0 } },
      { id: 'b', name: 'endless', timeoutMs: 20 },
      { id: 'c', name: 'endless', resources: { cpu: 100_000 } },
      { id: 'd', name: 'endless', priority: 'urgent' as never },
    ]);
    expect(results[0]).toMatchObject({ status: 'completed', value: 3, attempts: 3 });
    expect(results[1]).toMatchObject({ status: 'failed', reason: 'timeout' });
    expect(results[2]).toMatchObject({ status: 'failed', attempts: 0, error: { code: 'IMPOSSIBLE_DEMAND' } });
    expect(results[3]).toMatchObject({ status: 'failed', error: { code: 'UNKNOWN_PRIORITY' } });
  });

  it('never lets a call drop the locks of its tool', async () => {
    const { coordinator } = openTestCoordinator();
    let inside = 0;
    coordinator.register(
      defineTool({
        name: 'careful',
        resources: () => ({ exclusive: ['file:x'] }),
        run: async () => {
          expect(++inside).toBe(1);
          await new Promise(setImmediate);
          inside--;
        },
      }),
    );
    const calls: ToolCall[] = Array.from({ length: 5 }, () => ({
      name: 'careful',
      resources: { cpu: 0.1, exclusive: ['y'] },
    }));
    const shared: ToolCall[] = Array.from({ length: 5 }, () => ({
      name: 'careful',
      resources: { exclusive: [] },
    }));
    const results = await coordinator.executeParallel([...calls, ...shared]);
    expect(results.every(({ status }) => status === 'completed')).toBe(true);
  });

  it('takes the locks of a call whose input comes from another result', async () => {
    const { coordinator } = openTestCoordinator();
    const inside = new Set<string>();
    coordinator.register(
      echo,
      defineTool<{ path: string }>({
        name: 'write',
        resources: ({ path }) => ({ exclusive: [path] }),
        run: async ({ path }, { report }) => {
          expect(inside.has(path)).toBe(false);
          inside.add(path);
          report('writing');
          await new Promise(setImmediate);
          inside.delete(path);
          return path;
        },
      }),
    );
    const path = { $from: 'name', path: '/path' };
    const results = await coordinator.executeParallel([
      { id: 'name', name: 'echo', arguments: { path: 'same' } },
      ...Array.from({ length: 4 }, () => ({ name: 'write', arguments: { path } })),
      { name: 'write', arguments: { path: 'same' } },
      { name: 'write', arguments: { path: { $from: 'name', path: '/none' } } },
    ]);
    expect(results.slice(1).map(summary)).toEqual([
      'call-2: completed "same"',
      'call-3: completed "same"',
      'call-4: completed "same"',
      'call-5: completed "same"',
      'call-6: completed "same"',
      'call-7: failed error: UNRESOLVED_REFERENCE',
    ]);
  });

  it('gives a nested call its own time limit, retries and reason', async () => {
    const { coordinator } = openTestCoordinator();
    let attempts = 0;
    coordinator.register(
      echo,
      defineTool<{ path: string }>({
        name: 'write',
        resources: ({ path }) => ({ exclusive: [path] }),
        timeoutMs: 500,
        retry: { maxRetries: 1, delayMs: 0 },
        run: (_, { signal }) => {
          attempts++;
          return new Promise((resolve) => signal.addEventListener('abort', resolve));
        },
      }),
    );
    const [, result] = await coordinator.executeParallel([
      { id: 'name', name: 'echo', arguments: { path: 'same' } },
      { id: 'w', name: 'write', arguments: { path: '${name.path}' } },
    ]);
    expect(result).toMatchObject({
      status: 'failed',
      reason: 'timeout',
      error: { code: 'EXECUTION_TIMEOUT' },
    });
    expect(attempts).toBe(2);
  });

  it('runs on after a refused dependency where the call wants that', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(echo, broken);
    const results = await coordinator.executeParallel([
      { id: 'a', name: 'nobody' },
      { id: 'clean', name: 'echo', arguments: 1, dependsOn: ['a', 'b'], onDependencyFailure: 'run' },
      { id: 'b', name: 'echo', arguments: 2 },
      { id: 'undo', name: 'echo', arguments: 3, dependsOn: ['a', 'b'], onDependencyFailure: 'on-failure' },
      { id: 'skipped', name: 'echo', dependsOn: ['a', 'b'] },
      { id: 'too', name: 'echo', dependsOn: ['skipped'] },
    ]);
    expect(results.slice(1).map(summary)).toEqual([
      'clean: completed 1',
      'b: completed 2',
      'undo: completed 3',
      'skipped: skipped because of a',
      'too: skipped because of a',
    ]);
  });

  it.each<[string, unknown, string]>([
    ['something that is no list', 'all', 'INVALID_CALL: The calls must be a list'],
    ['a call that is none', ['echo'], 'INVALID_CALL: Call 1 must be an object'],
    ['a call without a name', [{ id: 'a' }], 'INVALID_CALL: Call 1 has no tool name'],
    [
      'an unknown field',
      [{ name: 'echo', dependson: [] }],
      'INVALID_CALL: Call 1 (echo) has a field "dependson" that calls do not have; did you mean "dependsOn"?',
    ],
    [
      'an id twice',
      [
        { id: 'a', name: 'echo' },
        { id: 'a', name: 'echo' },
      ],
      'DUPLICATE_ID',
    ],
    ['an empty id', [{ id: '', name: 'echo' }], 'INVALID_CALL: The id of call 1 (echo)'],
    [
      'an unknown dependency',
      [
        { id: 'read-a', name: 'echo' },
        { id: 'b', name: 'echo', dependsOn: ['read-b'] },
      ],
      'UNKNOWN_DEPENDENCY: b depends on "read-b", but no call in the list has this id; did you mean "read-a"?',
    ],
    [
      'dependencies that are no list',
      [{ name: 'echo', dependsOn: 'a' }],
      'INVALID_CALL: dependsOn of call-1 must be a list',
    ],
    [
      'a circle',
      [
        { id: 'a', name: 'echo', arguments: '${b}' },
        { id: 'b', name: 'echo', dependsOn: ['a'] },
      ],
      'DEPENDENCY_CYCLE',
    ],
  ])('refuses a list with %s as a whole', async (_, calls, message) => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(echo);
    expect(await failureOf(coordinator.executeParallel(calls as ToolCall[]))).toContain(message);
    expect(coordinator.engine.statistics().submitted).toBe(0);
  });

  it('cancels what has not settled when its signal is aborted', async () => {
    const { coordinator } = openTestCoordinator();
    const started = gate();
    coordinator.register(
      echo,
      defineTool({
        name: 'wait',
        run: (_, { signal }) => {
          started.open();
          return new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason)),
          );
        },
      }),
    );
    const controller = new AbortController();
    const running = coordinator.executeParallel(
      [
        { id: 'a', name: 'wait' },
        { id: 'b', name: 'echo', dependsOn: ['a'] },
      ],
      { signal: controller.signal },
    );
    await started.passed;
    controller.abort('enough');
    expect((await running).map(summary)).toEqual(['a: cancelled enough', 'b: cancelled enough']);
    const late = await coordinator.executeParallel([{ id: 'c', name: 'echo' }], {
      signal: controller.signal,
    });
    expect(late.map(summary)).toEqual(['c: cancelled enough']);
  });

  it('ends the rest at the first failure where that is asked for', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(
      broken,
      echo,
      defineTool({
        name: 'wait',
        run: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      }),
    );
    const failing = await coordinator.executeParallel([{ name: 'wait' }, { name: 'broken' }], {
      failFast: true,
    });
    expect(failing.map(({ status }) => status)).toEqual(['cancelled', 'failed']);
    const refused = await coordinator.executeParallel([{ name: 'wait' }, { name: 'nobody' }], {
      failFast: true,
    });
    expect(refused.map(({ status }) => status)).toEqual(['cancelled', 'failed']);
  });

  it('ends a list that takes too long', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(
      defineTool({
        name: 'wait',
        run: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      }),
    );
    const [result] = await coordinator.executeParallel([{ name: 'wait' }], { timeoutMs: 20 });
    expect(result).toMatchObject({ status: 'failed', reason: 'deadline' });
  });

  it('may use the same ids in every list', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(echo);
    for (let turn = 0; turn < 3; turn++) {
      const [result] = await coordinator.executeParallel([{ id: 'a', name: 'echo', arguments: turn }]);
      expect(summary(result!)).toBe(`a: completed ${turn}`);
    }
  });

  it('takes no more calls once it is closed', async () => {
    const { coordinator } = openTestCoordinator();
    await coordinator.close();
    expect(await failureOf(coordinator.executeSingle({ name: 'read_file' }))).toContain('RUNNER_CLOSED');
  });
});

describe('stream()', () => {
  it('gives each result when it comes', async () => {
    const { coordinator } = openTestCoordinator();
    const entry = gate();
    coordinator.register(echo, defineTool({ name: 'slow', run: () => entry.passed }));
    const seen: string[] = [];
    const calls = [
      { id: 'a', name: 'slow' },
      { id: 'b', name: 'echo', arguments: 1 },
      { id: 'c', name: 'nobody' },
    ];
    for await (const result of coordinator.stream(calls)) {
      seen.push(result.id);
      if (seen.length === 2) entry.open();
    }
    expect(seen.slice(0, 2).sort()).toEqual(['b', 'c']);
    expect(seen[2]).toBe('a');
  });

  it('ends what is left when nobody reads on', async () => {
    const { coordinator } = openTestCoordinator();
    const stopped = gate();
    coordinator.register(
      echo,
      defineTool({
        name: 'wait',
        run: (_, { signal }) =>
          new Promise((resolve) =>
            signal.addEventListener('abort', () => {
              stopped.open();
              resolve(undefined);
            }),
          ),
      }),
    );
    for await (const result of coordinator.stream([{ name: 'wait' }, { id: 'b', name: 'echo' }])) {
      expect(result.id).toBe('b');
      break;
    }
    await stopped.passed;
    await coordinator.engine.drain();
  });
});
