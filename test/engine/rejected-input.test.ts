import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { EngineLimits, EngineOptions, ExecutionContext } from '../../src/index.ts';
import { ParallelExecutionEngine } from '../../src/index.ts';
import { openEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';

/** Input as it comes from a caller without types. */
function untyped(context: unknown): ExecutionContext {
  return context as ExecutionContext;
}

const CASES: [string, string, unknown][] = [
  ['no context', 'INVALID_VALUE', undefined],
  ['an empty tool name', 'INVALID_VALUE', { toolName: '' }],
  ['a tool name that is a number', 'INVALID_VALUE', { toolName: 7 }],
  ['an empty id', 'INVALID_ID', { toolName: 't', id: '' }],
  ['an id in the form of the engine', 'INVALID_ID', { toolName: 't', id: 'exec-1' }],
  ['an id that is in use', 'DUPLICATE_ID', { toolName: 't', id: 'used' }],
  ['an unknown dependency', 'UNKNOWN_DEPENDENCY', { toolName: 't', dependsOn: ['nobody'] }],
  ['itself as a dependency', 'DEPENDENCY_CYCLE', { toolName: 't', id: 'self', dependsOn: ['self'] }],
  ['dependencies that are no list', 'INVALID_VALUE', { toolName: 't', dependsOn: 'used' }],
  ['a dependency that is neither id nor handle', 'INVALID_VALUE', { toolName: 't', dependsOn: [7] }],
  ['a hole among the dependencies', 'INVALID_VALUE', { toolName: 't', dependsOn: new Array(1) }],
  ['an unknown priority', 'UNKNOWN_PRIORITY', { toolName: 't', priority: 'urgent' }],
  ['a priority that is no text', 'UNKNOWN_PRIORITY', { toolName: 't', priority: 1n }],
  ['an id that is no text', 'INVALID_ID', { toolName: 't', id: 1n }],
  ['a signal that is none', 'INVALID_VALUE', { toolName: 't', signal: { aborted: false } }],
  ['a hole among the locks', 'INVALID_VALUE', { toolName: 't', resources: { exclusive: new Array(1) } }],
  ['an unknown policy', 'INVALID_VALUE', { toolName: 't', onDependencyFailure: 'ignore' }],
  ['an impossible demand', 'IMPOSSIBLE_DEMAND', { toolName: 't', resources: { cpu: 4.5 } }],
  ['a negative demand', 'INVALID_VALUE', { toolName: 't', resources: { cpu: -1 } }],
  ['an unknown I/O intensity', 'INVALID_VALUE', { toolName: 't', resources: { io: 'extreme' } }],
  ['locks that are no list', 'INVALID_VALUE', { toolName: 't', resources: { exclusive: 'db' } }],
  ['a timeout that is no number', 'INVALID_VALUE', { toolName: 't', timeoutMs: Number.NaN }],
  ['a negative deadline', 'INVALID_VALUE', { toolName: 't', deadlineMs: -1 }],
  ['a stall limit of nothing', 'INVALID_VALUE', { toolName: 't', stallMs: 0 }],
  ['an endless estimate', 'INVALID_VALUE', { toolName: 't', estimatedMs: Number.POSITIVE_INFINITY }],
  ['half a retry', 'INVALID_VALUE', { toolName: 't', retry: { maxRetries: 0.5 } }],
  ['an empty group', 'INVALID_VALUE', { toolName: 't', group: '' }],
  ['an idempotence that is no answer', 'INVALID_VALUE', { toolName: 't', idempotent: 'yes' }],
  ['conflicts that are no list', 'INVALID_VALUE', { toolName: 't', conflictsWith: 'other' }],
];

describe('a submission with', () => {
  it.each(CASES)('%s is rejected at once with %s and leaves no trace', async (_, code, context) => {
    const engine = openEngine({ limits: { cpu: 4 } });
    await engine.submit({ toolName: 'first', id: 'used' }, () => {}).wait();
    let calls = 0;
    const run = () => ++calls;
    expect(codeOf(thrownBy(() => engine.submit(untyped(context), run)))).toBe(code);
    const item = context === undefined ? undefined : { ...(context as object), run };
    expect(codeOf(thrownBy(() => engine.submitAll([{ toolName: 'good', run }, item as never])))).toBe(code);
    await engine.drain();
    expect(calls).toBe(0);
    expect(engine.statistics()).toMatchObject({ submitted: 1, counts: { completed: 1 } });
  });

  it('no function is rejected', () => {
    const engine = openEngine();
    expect(codeOf(thrownBy(() => engine.submit({ toolName: 't' }, undefined as never)))).toBe(
      'INVALID_VALUE',
    );
    expect(codeOf(thrownBy(() => engine.submitAll([{ toolName: 't' } as never])))).toBe('INVALID_VALUE');
    expect(codeOf(thrownBy(() => engine.submitAll('all' as never)))).toBe('INVALID_VALUE');
    expect(engine.statistics().submitted).toBe(0);
  });

  it.each<[what: string, ...child: unknown[]]>([
    ['no context', undefined, () => {}],
    ['no function', { toolName: 't' }],
  ])('%s is rejected as a child, too', async (_, ...child) => {
    const engine = openEngine();
    const parent = engine.submit({ toolName: 'parent' }, ({ submit }) => {
      expect(codeOf(thrownBy(() => submit(...(child as never as Parameters<typeof submit>))))).toBe(
        'INVALID_VALUE',
      );
    });
    await parent.wait();
    expect(engine.statistics().submitted).toBe(1);
  });

  it('an error does not bring its group into being, nor use up its id', async () => {
    const engine = openEngine();
    const submit = () =>
      engine.submit({ toolName: 't', id: 'x', group: 'ghost', dependsOn: ['nobody'] }, () => {});
    expect(codeOf(thrownBy(submit))).toBe('UNKNOWN_DEPENDENCY');
    expect(codeOf(thrownBy(() => engine.pause('ghost')))).toBe('UNKNOWN_GROUP');
    expect(await engine.submit({ toolName: 't', id: 'x' }, () => 'free').wait()).toBe('free');
  });
});

describe('an engine with', () => {
  const options: [string, unknown][] = [
    ['no room at all', { maxConcurrency: 0 }],
    ['a concurrency that is no number', { maxConcurrency: Number.NaN }],
    ['a negative limit', { limits: { cpu: -1 } }],
    ['an invalid limit of a tool', { tools: { fetch: { maxConcurrency: 0 } } }],
    ['an invalid rate of a group', { groups: { crawl: { rate: { count: 0, perMs: 10 } } } }],
    ['no options', null],
    ['limits that are a number', { limits: 5 }],
    ['limits of tools that are a number', { tools: 5 }],
    ['limits of a group without a name', { groups: { '': { maxConcurrency: 1 } } }],
    ['a tiny event log', { eventLogSize: 1 }],
    ['half an allocation history', { allocationHistorySize: 0.5 }],
    ['a negative grace period', { graceMs: -1 }],
    ['an invalid seed', { seed: -1 }],
  ];

  it('too little room is told by the name of its option', () => {
    expect(() => new ParallelExecutionEngine({ maxConcurrency: 0 })).toThrow(/^maxConcurrency must be/);
    expect(() => openEngine().setLimits({ maxConcurrency: 0 })).toThrow(/^maxConcurrency must be/);
  });

  it.each(options)('%s is refused', (_, invalid) => {
    expect(codeOf(thrownBy(() => new ParallelExecutionEngine(invalid as EngineOptions)))).toBe(
      'INVALID_VALUE',
    );
  });

  it.each<[string, (engine: ParallelExecutionEngine) => unknown, string]>([
    ['limits', (engine) => engine.setLimits(undefined as never), 'INVALID_VALUE'],
    ['options of a group', (engine) => engine.submitAll([], null as never), 'INVALID_VALUE'],
    ['limits of resources', (engine) => engine.setLimits({ limits: 5 as never }), 'INVALID_VALUE'],
    ['limits of tools', (engine) => engine.setLimits({ tools: null as never }), 'INVALID_VALUE'],
    ['options of close', (engine) => engine.close(null as never), 'INVALID_VALUE'],
    ['answers to whether to cancel', (engine) => engine.close({ cancel: 1 as never }), 'INVALID_VALUE'],
    ['a failFast', (engine) => engine.submitAll([], { failFast: 'false' as never }), 'INVALID_VALUE'],
    ['options of a reader', (engine) => engine.progress.subscribe(null as never), 'INVALID_VALUE'],
    ['an id to cancel', (engine) => engine.cancel(5 as never), 'UNKNOWN_EXECUTION'],
    ['an id to explain', (engine) => engine.explain(null as never), 'UNKNOWN_EXECUTION'],
  ])('%s that are none are refused', (_, call, code) => {
    expect(codeOf(thrownBy(() => call(openEngine())))).toBe(code);
  });

  it('no limit for what is left undefined has the default one', () => {
    const engine = openEngine({ limits: { cpu: undefined } as never });
    expect(engine.statistics().utilization.cpu.limit).toBe(availableParallelism());
  });

  it('limits that are changed to something invalid keeps all of the old ones', () => {
    const engine = openEngine({ maxConcurrency: 3, limits: { cpu: 4 } });
    const invalid: EngineLimits = { maxConcurrency: 5, limits: { cpu: Number.NaN } };
    expect(codeOf(thrownBy(() => engine.setLimits(invalid)))).toBe('INVALID_VALUE');
    const badTool: EngineLimits = { maxConcurrency: 5, tools: { fetch: { maxConcurrency: -1 } } };
    expect(codeOf(thrownBy(() => engine.setLimits(badTool)))).toBe('INVALID_VALUE');
    const { concurrency, cpu } = engine.statistics().utilization;
    expect([concurrency.limit, cpu.limit]).toEqual([3, 4]);
  });
});
