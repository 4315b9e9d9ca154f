import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ToolCall } from '../../src/coordinator/call.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { gate, quiet } from '../engine/support/gate.ts';
import { echo, openTestCoordinator, summary } from './support.ts';

const run = () => 'ran';

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** A schema that says nothing until the gate is opened. */
function slowSchema(until: Promise<void>) {
  return z.any().refine(async () => {
    await until;
    return true;
  });
}

describe('what is wrong with one call', () => {
  const throwing = z.any().refine(() => {
    throw new Error('boom');
  });
  const rejecting = {
    '~standard': { version: 1, vendor: 'test', validate: () => Promise.reject(new Error('later')) },
  };
  const failing = {
    get x(): never {
      throw new Error('no x');
    },
  };
  it.each<[string, object, Partial<ToolCall>, string, RegExp]>([
    ['a schema that throws', { input: throwing }, {}, 'INVALID_ARGUMENTS', /boom/],
    ['a schema that rejects', { input: rejecting }, {}, 'INVALID_ARGUMENTS', /later/],
    ['a getter that throws', {}, { arguments: failing }, 'INVALID_ARGUMENTS', /no x/],
    ['a revoked proxy', {}, { arguments: revoked() }, 'INVALID_ARGUMENTS', /odd/],
    ['resources of null', {}, { resources: null as never }, 'INVALID_VALUE', /^resources of a call .*null/],
    ['retry that is a number', {}, { retry: 3 as never }, 'INVALID_VALUE', /^retry of a call .*it is 3/],
    ['needs of null', { resources: () => null }, {}, 'INVALID_TOOL', /null/],
    [
      'needs that are promised',
      { resources: () => Promise.reject(new Error('x')) },
      {},
      'INVALID_TOOL',
      /a promise/,
    ],
    [
      'needs that cannot be told',
      {
        resources: () => {
          throw Object.create(null);
        },
      },
      {},
      'INVALID_TOOL',
      /could not be computed/,
    ],
  ])('is its result, as with %s', async (_, properties, call, code, message) => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(echo, defineTool({ name: 'odd', run, ...properties } as never));
    const [odd, good] = await coordinator.executeParallel([
      { name: 'odd', ...call },
      { name: 'echo', arguments: 1 },
    ]);
    expect(odd).toMatchObject({
      status: 'failed',
      attempts: 0,
      error: { code, message: expect.stringMatching(message) },
    });
    expect(summary(good!)).toBe('call-2: completed 1');
  });

  it('is its result, as with conflicts that cannot be told', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(echo, {
      name: 'odd',
      execute: run,
      canRunParallelWith: () => {
        throw new Error('who knows');
      },
    });
    const results = await coordinator.executeParallel([{ name: 'odd' }, { name: 'echo', arguments: 1 }]);
    expect(results.map(summary)).toEqual(['call-1: failed error: INVALID_TOOL', 'call-2: completed 1']);
  });

  it('asks a tool for its needs once, and takes no answer for none', async () => {
    const { coordinator } = openTestCoordinator();
    let asked = 0;
    coordinator.register(
      defineTool({
        name: 'once',
        run,
        resources: () => {
          if (++asked > 1) throw new Error('asked again');
          return undefined as never;
        },
      }),
    );
    expect(await coordinator.executeSingle({ name: 'once' })).toMatchObject({ value: 'ran' });
  });

  it('is its result, too, if it no longer fits when the list was looked at', async () => {
    const { coordinator } = openTestCoordinator();
    const checked = gate();
    coordinator.register(
      defineTool({ name: 'slow', input: slowSchema(checked.passed), run }),
      defineTool({ name: 'large', resources: { memoryMb: 50 }, run }),
    );
    const running = coordinator.executeParallel([
      { id: 'a', name: 'slow', resources: { memoryMb: 1 } },
      { id: 'b', name: 'large' },
      { id: 'c', name: 'large', dependsOn: ['b'], resources: { memoryMb: 1 } },
    ]);
    await quiet();
    coordinator.engine.setLimits({ limits: { memoryMb: 10 } });
    checked.open();
    const [a, b, c] = await running;
    expect(summary(a!)).toBe('a: completed "ran"');
    expect(b).toMatchObject({ status: 'failed', error: { code: 'IMPOSSIBLE_DEMAND' } });
    expect(summary(c!)).toBe('c: skipped because of b');
  });
});

describe('a check that takes its time', () => {
  const never = new Promise<void>(() => {});

  it('holds up no other check', async () => {
    const { coordinator } = openTestCoordinator();
    const second = gate();
    coordinator.register(
      defineTool({ name: 'first', input: slowSchema(second.passed), run }),
      defineTool({
        name: 'second',
        input: z.any().refine(async () => {
          second.open();
          return true;
        }),
        run,
      }),
    );
    const results = await coordinator.executeParallel([{ name: 'first' }, { name: 'second' }]);
    expect(results.map(({ status }) => status)).toEqual(['completed', 'completed']);
  });

  it('ends with the signal of the list', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(echo, defineTool({ name: 'stuck', input: slowSchema(never), run }));
    const controller = new AbortController();
    const running = coordinator.executeParallel(
      [
        { id: 'a', name: 'stuck' },
        { id: 'b', name: 'echo' },
      ],
      {
        signal: controller.signal,
      },
    );
    await quiet();
    controller.abort('enough');
    expect((await running).map(summary)).toEqual(['a: cancelled enough', 'b: cancelled enough']);
  });

  it('ends with the time of the list', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(defineTool({ name: 'stuck', input: slowSchema(never), run }));
    const [result] = await coordinator.executeParallel([{ name: 'stuck' }], { timeoutMs: 20 });
    expect(result).toMatchObject({ status: 'failed', reason: 'deadline' });
  });

  it('ends when the coordinator is closed', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(defineTool({ name: 'stuck', input: slowSchema(never), run }));
    const running = coordinator.executeParallel([{ name: 'stuck' }]);
    const failed = expect(running).rejects.toMatchObject({ code: 'RUNNER_CLOSED' });
    await coordinator.close();
    await failed;
  });

  it('sees the list as it was given', async () => {
    const { coordinator } = openTestCoordinator();
    const checked = gate();
    coordinator.register(defineTool({ name: 'slow', input: slowSchema(checked.passed), run }));
    const calls: ToolCall[] = [{ id: 'a', name: 'slow' }];
    const running = coordinator.executeParallel(calls);
    calls.push({ id: 'b', name: 'slow' });
    checked.open();
    expect((await running).map(summary)).toEqual(['a: completed "ran"']);
  });
});

describe('options of a list', () => {
  it.each<[string, object, string]>([
    ['a signal that is none', { signal: {} }, 'signal must be an AbortSignal'],
    ['an unknown option', { maxConcurency: 2 }, 'did you mean "maxConcurrency"?'],
    ['a concurrency of 0', { maxConcurrency: 0 }, 'maxConcurrency must be'],
    ['a time that is none', { timeoutMs: 'long' }, 'timeoutMs must be'],
    ['failFast that is no flag', { failFast: 1 }, 'failFast must be true or false'],
  ])('start nothing with %s', async (_, options, message) => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(echo);
    await expect(coordinator.executeParallel([{ name: 'echo' }], options)).rejects.toMatchObject({
      code: 'INVALID_VALUE',
      message: expect.stringContaining(message),
    });
    expect(coordinator.engine.statistics().submitted).toBe(0);
  });
});

describe('calls that only look alike', () => {
  it.each<[string, unknown, unknown]>([
    ['NaN and null', { x: Number.NaN }, { x: null }],
    ['0 and -0', { x: 0 }, { x: -0 }],
    ['nothing and undefined', {}, { x: undefined }],
    ['a Date and its text', { x: new Date(0) }, { x: new Date(0).toISOString() }],
    ['an object and what it says as JSON', { x: { toJSON: () => 1 } }, { x: 1 }],
  ])('all run: %s', async (_, one, other) => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(defineTool({ name: 'look', readOnly: true, run }));
    const results = await coordinator.executeParallel([
      { name: 'look', arguments: one },
      { name: 'look', arguments: other },
    ]);
    expect(results.map(({ sharedWith }) => sharedWith)).toEqual([undefined, undefined]);
  });
});

describe('texts of the engine', () => {
  it('name calls as the caller does', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(
      echo,
      defineTool({
        name: 'wait',
        run: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      }),
    );
    const [late] = await coordinator.executeParallel([{ id: 'c', name: 'wait', timeoutMs: 10 }]);
    expect(summary(late!)).toBe('c: failed timeout: EXECUTION_TIMEOUT');
    const circle = coordinator.executeParallel([
      { id: 'a', name: 'echo', dependsOn: ['b'] },
      { id: 'b', name: 'echo', dependsOn: ['a'] },
    ]);
    await expect(circle).rejects.toThrow(/cycle: (a → b → a|b → a → b) /);
  });
});
