import { describe, expect, it } from 'vitest';
import {
  DependencyGraph,
  ParallelExecutionEngine,
  PRIORITIES,
  ProgressTracker,
  type ProgressUpdate,
  type ResourceAllocation,
  ResourceManager,
  type ResourceRequirements,
  VolleyError,
} from '../../src/index.ts';
import { gate } from './support.ts';

/** The unit tests of the document that asked for the engine, against the public classes alone. */

describe('ParallelExecutionEngine', () => {
  it('runs tools concurrently', async () => {
    await using engine = new ParallelExecutionEngine({ maxConcurrency: 4 });
    const opened = gate();
    let inside = 0;
    const handles = ['tool1', 'tool2', 'tool3'].map((toolName) =>
      engine.submit({ toolName }, async () => {
        inside++;
        await opened.passed;
        return toolName;
      }),
    );
    // None of them can end before all three are inside.
    await expect.poll(() => inside).toBe(3);
    opened.open();
    const results = await Promise.all(handles.map((handle) => handle.wait()));
    expect(results).toEqual(['tool1', 'tool2', 'tool3']);
  });

  it('never runs more than its concurrency and its resources allow', async () => {
    await using engine = new ParallelExecutionEngine({ maxConcurrency: 4, limits: { cpu: 1 } });
    let running = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    };
    const run = (cpu: number) => engine.submit({ toolName: 'work', resources: { cpu } }, work);
    await Promise.all(Array.from({ length: 20 }, () => run(0.1).wait()));
    expect(most).toBe(4);
    most = 0;
    await Promise.all(Array.from({ length: 20 }, () => run(0.5).wait()));
    expect(most).toBe(2);
    expect(engine.statistics().utilization.cpu).toEqual({ used: 0, limit: 1 });
  });

  it('starts a tool when what it depends on has completed', async () => {
    await using engine = new ParallelExecutionEngine();
    const order: string[] = [];
    const run = (name: string) => () => void order.push(name);
    const first = engine.submit({ toolName: 'step' }, run('1'));
    const second = engine.submit({ toolName: 'step', dependsOn: [first] }, run('2'));
    await engine.submit({ toolName: 'step', dependsOn: [second, first] }, run('3')).wait();
    expect(order).toEqual(['1', '2', '3']);
  });

  it('lets a failure rule out its dependents, and no other', async () => {
    await using engine = new ParallelExecutionEngine();
    const failed = engine.submit({ toolName: 'fails', id: 'bad' }, () => Promise.reject(new Error('broken')));
    const dependent = engine.submit({ toolName: 'next', dependsOn: [failed] }, () => {});
    const last = engine.submit({ toolName: 'last', dependsOn: [dependent] }, () => {});
    const other = engine.submit({ toolName: 'other' }, () => 'fine');
    await expect(failed.wait()).rejects.toThrow('broken');
    expect(await dependent.outcome()).toMatchObject({ status: 'skipped', cause: 'bad' });
    expect(await last.outcome()).toMatchObject({ status: 'skipped', cause: 'bad' });
    expect(await other.wait()).toBe('fine');
  });

  it('refuses a dependency that it does not know', async () => {
    await using engine = new ParallelExecutionEngine();
    const submit = () => engine.submit({ toolName: 'next', dependsOn: ['nobody'] }, () => {});
    expect(submit).toThrow(expect.objectContaining({ code: 'UNKNOWN_DEPENDENCY' }));
  });

  it('ends a tool that takes longer than its timeout', async () => {
    await using engine = new ParallelExecutionEngine();
    const handle = engine.submit({ toolName: 'slow', timeoutMs: 1 }, ({ signal }) => aborted(signal));
    await expect(handle.wait()).rejects.toMatchObject({ code: 'EXECUTION_TIMEOUT' });
    expect(await handle.outcome()).toMatchObject({ status: 'failed', reason: 'timeout' });
  });

  it('tries again as its retry policy says', async () => {
    await using engine = new ParallelExecutionEngine();
    const retry = { maxRetries: 2, delayMs: 0 };
    const handle = engine.submit({ toolName: 'flaky', retry }, ({ attempt }) => {
      if (attempt < 3) throw new Error('not yet');
      return attempt;
    });
    expect(await handle.wait()).toBe(3);
    expect(engine.statistics().retries).toBe(2);
  });

  it('gives room back however a tool ends', async () => {
    await using engine = new ParallelExecutionEngine({ maxConcurrency: 1 });
    const resources = { exclusive: ['database'] };
    const submit = (run: () => unknown) => engine.submit({ toolName: 'work', resources }, run);
    await submit(() => 1).wait();
    await submit(() => Promise.reject(new Error('broken'))).outcome();
    const cancelled = engine.submit({ toolName: 'work', resources }, ({ signal }) => aborted(signal));
    await expect.poll(() => cancelled.status).toBe('running');
    cancelled.cancel();
    expect(await submit(() => 2).wait()).toBe(2);
    expect(engine.statistics().utilization.concurrency.used).toBe(0);
  });
});

describe('priorities', () => {
  it('are five, the most urgent first', () => {
    expect(PRIORITIES).toEqual(['critical', 'high', 'normal', 'low', 'background']);
  });

  it('decide what of the waiting starts first', async () => {
    await using engine = new ParallelExecutionEngine({ maxConcurrency: 1 });
    const order: string[] = [];
    const handles = [...PRIORITIES]
      .reverse()
      .map((priority) => engine.submit({ toolName: 'work', priority }, () => void order.push(priority)));
    await Promise.all(handles.map((handle) => handle.wait()));
    expect(order).toEqual(PRIORITIES);
  });
});

describe('ExecutionHandle', () => {
  it('waits for the result', async () => {
    await using engine = new ParallelExecutionEngine();
    const handle = engine.submit({ toolName: 'work', id: 'w' }, () => 42);
    expect(handle.id).toBe('w');
    expect(await handle.wait()).toBe(42);
  });

  it('cancels, and answers whether that came too late', async () => {
    await using engine = new ParallelExecutionEngine();
    const handle = engine.submit({ toolName: 'work' }, ({ signal }) => aborted(signal));
    await expect.poll(() => handle.status).toBe('running');
    expect(handle.cancel('no longer needed')).toEqual({ cancelled: true, status: 'cancelled' });
    expect(handle.cancel()).toEqual({ cancelled: false, status: 'cancelled' });
    await expect(handle.wait()).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' });
    const done = engine.submit({ toolName: 'work' }, () => 1);
    await done.wait();
    expect(done.cancel()).toEqual({ cancelled: false, status: 'completed' });
  });

  it('streams the progress of its own execution', async () => {
    await using engine = new ParallelExecutionEngine();
    const handle = engine.submit({ toolName: 'work' }, ({ report }) => report(0.5, 'half way'));
    engine.submit({ toolName: 'other' }, ({ report }) => report(0.1));
    const updates: unknown[] = [];
    for await (const update of handle.progress()) updates.push(update);
    expect(updates).toMatchObject([
      { type: 'started', executionId: handle.id },
      { type: 'progress', progress: 0.5, step: 'half way' },
      { type: 'completed', executionId: handle.id },
    ]);
  });

  it('gives a snapshot: status, progress, step, error, times', async () => {
    await using engine = new ParallelExecutionEngine();
    const opened = gate();
    const handle = engine.submit({ toolName: 'work' }, async ({ report }) => {
      report(0.5, 'half way');
      await opened.passed;
      throw new Error('no space left');
    });
    await expect.poll(() => handle.snapshot().progress).toBe(0.5);
    const running = handle.snapshot();
    expect(running).toMatchObject({ status: 'running', step: 'half way', error: undefined });
    expect(running.startedAt).toBeGreaterThanOrEqual(running.submittedAt);
    opened.open();
    await handle.outcome();
    expect(handle.snapshot()).toMatchObject({ status: 'failed', error: 'no space left' });
    expect(handle.snapshot().settledAt).toBeGreaterThanOrEqual(running.startedAt!);
  });
});

describe('ResourceManager', () => {
  const limits = { cpu: 1, memoryMb: 1024, ioOperations: 10 };
  const small: ResourceRequirements = { cpu: 0.5, memoryMb: 512, io: 'low', network: false };
  const large: ResourceRequirements = { cpu: 0.6, memoryMb: 256, io: 'low', network: false };

  it('refuses what does not fit, and grants it after a release', () => {
    const manager = new ResourceManager(limits);
    const first = granted(manager, 'first', small);
    expect(manager.tryAllocate('second', large)).toEqual({
      granted: false,
      resource: 'cpu',
      needed: 0.6,
      free: 0.5,
    });
    manager.release(first);
    expect(granted(manager, 'second', large).amounts.cpu).toBe(0.6);
  });

  it('refuses for want of memory and of I/O as well', () => {
    const manager = new ResourceManager(limits);
    expect(manager.tryAllocate('a', { memoryMb: 1025 })).toMatchObject({ resource: 'memoryMb', free: 1024 });
    for (const owner of ['a', 'b']) granted(manager, owner, { io: 'high' });
    expect(manager.tryAllocate('c', { io: 'high' })).toMatchObject({ resource: 'ioOperations', free: 2 });
  });

  it('locks exclusive names for one owner, which may take its own again', () => {
    const manager = new ResourceManager();
    const first = granted(manager, 'first', { exclusive: ['database'] });
    expect(manager.tryAllocate('second', { exclusive: ['database'] })).toEqual({
      granted: false,
      lock: 'database',
      heldBy: 'first',
    });
    const again = granted(manager, 'first', { exclusive: ['database'] });
    manager.release(first);
    expect(manager.tryAllocate('second', { exclusive: ['database'] }).granted).toBe(false);
    manager.release(again);
    granted(manager, 'second', { exclusive: ['database'] });
  });

  it('knows how much is in use', () => {
    const manager = new ResourceManager({ cpu: 4, memoryMb: 8192 });
    const allocation = granted(manager, 'a', { cpu: 1.5, memoryMb: 512 });
    expect(manager.utilization()).toMatchObject({
      cpu: { used: 1.5, limit: 4 },
      memoryMb: { used: 512, limit: 8192 },
      concurrency: { used: 1 },
    });
    manager.release(allocation);
    expect(manager.utilization()).toMatchObject({ cpu: { used: 0 }, memoryMb: { used: 0 } });
    expect(() => manager.release(allocation)).toThrow(VolleyError);
  });

  it('records its allocations, up to a limit, as data', () => {
    const manager = new ResourceManager({}, { historySize: 1000 });
    for (let index = 0; index < 1001; index++) manager.release(granted(manager, `done-${index}`, {}));
    const held = granted(manager, 'held', { cpu: 1, memoryMb: 10, exclusive: ['database'] });
    const history: ResourceAllocation[] = JSON.parse(JSON.stringify(manager.history()));
    expect(history).toHaveLength(1001);
    expect(history[0]!.owner).toBe('done-1');
    expect(history.at(-1)).toEqual(held);
    expect(held).toMatchObject({ owner: 'held', amounts: { cpu: 1, memoryMb: 10 }, exclusive: ['database'] });
  });
});

describe('DependencyGraph', () => {
  it('gives what is ready, and what becomes ready', () => {
    const graph = new DependencyGraph();
    graph.addNode('1');
    graph.addNode('2', ['1']);
    graph.addNode('3', ['2']);
    expect(ready(graph)).toEqual(['1']);
    graph.markCompleted('1');
    expect(ready(graph)).toEqual(['2']);
    graph.markCompleted('2');
    expect(ready(graph)).toEqual(['3']);
  });

  it('waits for all dependencies of a node', () => {
    const graph = new DependencyGraph();
    graph.add([{ id: 'left' }, { id: 'right' }, { id: 'both', dependsOn: ['left', 'right'] }]);
    graph.markCompleted('left');
    expect(graph.dependenciesSatisfied('both')).toBe(false);
    expect(ready(graph)).toEqual(['right']);
    graph.markCompleted('right');
    expect(graph.dependenciesSatisfied('both')).toBe(true);
    expect(ready(graph)).toEqual(['both']);
  });

  it('knows the status and the times of each node', () => {
    let now = 1000;
    const graph = new DependencyGraph(() => now);
    graph.addNode('1');
    now = 1500;
    graph.markCompleted('1');
    expect(graph.find('1')).toMatchObject({ status: 'completed', submittedAt: 1000, settledAt: 1500 });
  });

  it('finds a cycle', () => {
    const graph = new DependencyGraph();
    graph.addNode('1', ['3']);
    graph.addNode('2', ['1']);
    expect(graph.detectCycles()).toBeUndefined();
    graph.addNode('3', ['2']);
    expect(new Set(graph.detectCycles())).toEqual(new Set(['1', '2', '3']));
  });

  it('has nothing ready that waits for a dependency that is missing', () => {
    const graph = new DependencyGraph();
    graph.addNode('2', ['1']);
    expect(ready(graph)).toEqual([]);
    graph.addNode('1');
    expect(ready(graph)).toEqual(['1']);
  });

  it('is quick with a large graph', () => {
    const graph = new DependencyGraph();
    const count = 20_000;
    for (let index = 0; index < count; index++)
      graph.addNode(`n${index}`, index === 0 ? [] : [`n${index - 1}`, `n${index >> 1}`]);
    expect(graph.detectCycles()).toBeUndefined();
    for (let index = 0; index < count; index++) graph.markCompleted(`n${index}`);
    expect(ready(graph)).toEqual([]);
  });
});

describe('ProgressTracker', () => {
  it('broadcasts updates to everybody who subscribed', async () => {
    const tracker = new ProgressTracker();
    const readers = [tracker.subscribe(), tracker.subscribe()];
    tracker.start('a', 'build');
    tracker.update('a', 0.5, 'linking');
    tracker.complete('a');
    for (const reader of readers) {
      const types: string[] = [];
      for await (const update of reader) {
        types.push(update.type);
        if (update.type === 'completed') break;
      }
      expect(types).toEqual(['started', 'progress', 'completed']);
    }
  });

  it('carries id, type, time and details in each update', async () => {
    const tracker = new ProgressTracker();
    const reader = tracker.subscribe();
    const before = Date.now();
    tracker.start('a', 'build');
    tracker.fail('a', new Error('no space left'));
    expect((await reader.next()).value).toMatchObject({ executionId: 'a', type: 'started' });
    const failed = (await reader.next()).value as ProgressUpdate;
    expect(failed).toMatchObject({ executionId: 'a', type: 'failed', error: 'no space left' });
    expect(Math.abs(failed.at - before)).toBeLessThan(60_000);
  });

  it('aggregates the progress of all executions, with statistics', () => {
    const tracker = new ProgressTracker();
    expect(tracker.aggregated()).toMatchObject({ total: 0, progress: 0 });
    for (const id of ['a', 'b', 'c', 'd']) tracker.start(id, 'work');
    tracker.complete('a');
    tracker.fail('b', new Error('broken'));
    tracker.cancel('c');
    tracker.update('d', 0.5);
    expect(tracker.aggregated()).toMatchObject({
      total: 4,
      running: 1,
      completed: 1,
      failed: 1,
      cancelled: 1,
      progress: 3.5 / 4,
      statistics: { submitted: 4, counts: { completed: 1, failed: 1, cancelled: 1 }, duration: { count: 1 } },
    });
  });

  it('has the progress of each: status, percentage, step, error, times', () => {
    const tracker = new ProgressTracker();
    tracker.start('a', 'build');
    tracker.update('a', 0.5, 'linking');
    expect(tracker.snapshot('a')).toMatchObject({
      id: 'a',
      toolName: 'build',
      status: 'running',
      progress: 0.5,
      step: 'linking',
      error: undefined,
      settledAt: undefined,
    });
    tracker.fail('a', new Error('no space left'));
    expect(tracker.snapshot('a')).toMatchObject({ status: 'failed', error: 'no space left' });
  });
});

/** Ends when the attempt is told to stop. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

function granted(manager: ResourceManager, owner: string, needs: ResourceRequirements): ResourceAllocation {
  const result = manager.tryAllocate(owner, needs);
  if (!result.granted) throw new Error(`${owner} was refused: ${JSON.stringify(result)}`);
  return result.allocation;
}

function ready(graph: DependencyGraph): string[] {
  return graph.ready().map(({ id }) => id);
}
