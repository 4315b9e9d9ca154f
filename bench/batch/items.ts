import { join } from 'node:path';
import { BatchExecutor, defaultConfig, openStore, ParallelToolCoordinator } from '../../dist/index.js';
import { builtinTools } from '../../dist/tools/builtin/index.js';
import { EventLoopWatch } from '../event-loop/watch.ts';
import { collectGarbage } from '../harness/measure.ts';
import type { Figures } from '../harness/scenario.ts';
import { CONCURRENCY } from './contestant.ts';
import { temporaryFolder } from './folder.ts';
import { HOLD, NO_OP } from './tools.ts';

/** The same calls, each as a task of its own or as the items of one. */
export type Form = (tool: string, count: number) => readonly object[];

export const writtenOut: Form = (tool, count) =>
  Array.from({ length: count }, (_, index) => ({ function: tool, params: { bytes: index % 10 } }));

/** A literal list would count as text that is read, so an expression makes it. */
export const forEach: Form = (tool, count) => [
  {
    function: tool,
    params: { bytes: { $from: 'item' } },
    for_each: `Array.from({ length: ${count} }, (_, index) => index % 10)`,
  },
];

export const computed: Form = (tool, count) => [
  { ...forEach(tool, count)[0], params: { bytes: { $expr: 'item' } } },
];

/** A program that makes the same calls at once. */
export const program: Form = (tool, count) => [
  {
    function: 'run_program',
    params: {
      code: `await Promise.all(Array.from({ length: ${count} }, (_, index) => tools.${tool}({ bytes: index % 10 })))`,
    },
  },
];

/** Each task waits for the one before it. */
export const chain: Form = (tool, count) =>
  Array.from({ length: count }, (_, index) => ({
    id: `t${index}`,
    function: tool,
    params: { bytes: index % 10 },
    ...(index > 0 && { depends_on: [`t${index - 1}`] }),
  }));

/** The same as a loop. */
export const loop: Form = (tool, count) => [
  {
    function: 'run_program',
    params: {
      code: `for (let index = 0; index < ${count}; index++) await tools.${tool}({ bytes: index % 10 })`,
    },
  },
];

/** From the request to add the tasks to the end of the last one, and the longest pause of the event loop meanwhile. */
export async function measureTime(form: Form, count: number): Promise<Figures> {
  return withExecutor(async (ask) => {
    // The threads and the code are warm, as for everything that is measured.
    for (let round = 0; round < 3; round++) await run(ask, form, `warm-${round}`, count / 50);
    collectGarbage();
    const watch = new EventLoopWatch();
    watch.start();
    const start = performance.now();
    const before = process.cpuUsage();
    await run(ask, form, 'measured', count);
    const ms = performance.now() - start;
    const { user, system } = process.cpuUsage(before);
    const { longestGapMs } = await watch.stop();
    return { ms, cpuMs: (user + system) / 1000, longestGapMs };
  });
}

/** What a queued call takes in memory: some hold all places, and the rest waits. */
export async function measureMemory(form: Form, count: number): Promise<Figures> {
  return withExecutor(async (ask, counts) => {
    await run(ask, form, 'warm', count / 50);
    const before = await usedBytes();
    await ask({ action: 'add_batch', batch: 'queued', tasks: form('hold', count) });
    await ask({ action: 'start', batch: 'queued', max_concurrent: 4 });
    while (!(await counts('queued', count))) await new Promise(setImmediate);
    const bytes = (await usedBytes()) - before;
    await ask({ action: 'cancel', batch: 'queued', all: true });
    return { bytesPerTask: bytes / count };
  });
}

type Ask = (request: object) => Promise<void>;

async function run(ask: Ask, form: Form, batch: string, count: number): Promise<void> {
  await ask({ action: 'add_batch', batch, tasks: form('no_op', count) });
  await ask({ action: 'start', batch, max_concurrent: CONCURRENCY, wait: true });
}

async function withExecutor(
  measure: (ask: Ask, isQueued: (batch: string, count: number) => Promise<boolean>) => Promise<Figures>,
): Promise<Figures> {
  const folder = temporaryFolder();
  const coordinator = new ParallelToolCoordinator({ config: defaultConfig(folder.path) });
  coordinator.register(builtinTools(), NO_OP, HOLD);
  const store = await openStore(join(folder.path, 'volley.db'));
  const executor = new BatchExecutor({ coordinator, store });
  const ask = async (request: object) => {
    const { ok, text } = await executor.handle(request);
    if (!ok) throw new Error(text);
  };
  const isQueued = async (batch: string, count: number) => {
    const queued = Object.values(coordinator.engine.queued()).reduce((sum, one) => sum + one, 0);
    return queued >= count - 4 && (await executor.view(batch))!.counts.running > 0;
  };
  try {
    return await measure(ask, isQueued);
  } finally {
    await executor.close();
    await store.close();
    await coordinator.close();
    folder.remove();
  }
}

async function usedBytes(): Promise<number> {
  await new Promise(setImmediate);
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
