import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BatchExecutor, defaultConfig, openStore, ParallelToolCoordinator } from '../../dist/index.js';
import { collectGarbage } from '../harness/measure.ts';
import type { Figures } from '../harness/scenario.ts';
import { CONCURRENCY } from './contestant.ts';
import { temporaryFolder } from './folder.ts';
import { HOLD, NO_OP } from './tools.ts';

const BATCH = 'large';
/** The memory is looked at whenever so many more have completed. */
const LOOK_EVERY = 10_000;
/** So often `status` is asked for. */
const LOOKS = 300;

/** How long `status` takes when half of a batch is done, some run and the rest waits. */
export function measureStatus(count: number): Promise<Figures> {
  return withExecutor(async ({ add, ask, executor }) => {
    await add(count / 2, {});
    await add(count / 2, {}, 'hold');
    await ask({ action: 'start', batch: BATCH, max_concurrent: CONCURRENCY });
    while ((await executor.view(BATCH))!.counts.completed < count / 2) await sleep(10);
    const times: number[] = [];
    for (let turn = 0; turn < LOOKS; turn++) {
      await sleep(5);
      const start = performance.now();
      await ask({ action: 'status', batch: BATCH });
      times.push(performance.now() - start);
    }
    await ask({ action: 'cancel', batch: BATCH, all: true });
    times.sort((a, b) => a - b);
    const at = (share: number) => times[Math.floor(share * (times.length - 1))]!;
    return { p50Ms: at(0.5), p99Ms: at(0.99), longestMs: at(1) };
  });
}

/** What is held while and after the batch runs, apart from garbage, beyond what was held before it was added. */
export function measureMemory(count: number, bytes: number): Promise<Figures> {
  return withExecutor(async ({ add, ask, executor }) => {
    const before = heldMb();
    let completed = 0;
    let most = 0;
    executor.watch({
      completed: () => {
        if (++completed % LOOK_EVERY === 0) most = Math.max(most, heldMb());
      },
    });
    await add(count, { bytes });
    await ask({ action: 'start', batch: BATCH, max_concurrent: CONCURRENCY, wait: true });
    return { mostMb: most - before, afterMb: heldMb() - before };
  });
}

/** How long it takes until a store is open and seen to, after a process has died that ran all tasks at once. */
export function measureRecovery(count: number): Promise<Figures> {
  return withExecutor(async ({ add, file, coordinator }) => {
    await add(count, {});
    const dying = await openStore(file);
    const at = Date.now();
    await Promise.all(Array.from({ length: count }, (_, index) => dying.started(BATCH, index + 1, at)));
    await dying.close();
    collectGarbage();
    const start = performance.now();
    const store = await openStore(file);
    const { reopened } = await new BatchExecutor({ coordinator, store }).recover();
    const ms = performance.now() - start;
    await store.close();
    if (reopened.length !== count) throw new Error(`Only ${reopened.length} of ${count} were opened again.`);
    return { ms };
  });
}

interface Parts {
  readonly file: string;
  readonly coordinator: ParallelToolCoordinator;
  readonly executor: BatchExecutor;
  ask(request: object): Promise<void>;
  add(count: number, params: object, tool?: string): Promise<void>;
}

async function withExecutor(measure: (parts: Parts) => Promise<Figures>): Promise<Figures> {
  const folder = temporaryFolder();
  const file = join(folder.path, 'volley.db');
  const coordinator = new ParallelToolCoordinator({ config: defaultConfig(folder.path) });
  coordinator.register(NO_OP, HOLD);
  const store = await openStore(file);
  const executor = new BatchExecutor({ coordinator, store });
  const ask = async (request: object) => {
    const { ok, text } = await executor.handle(request);
    if (!ok) throw new Error(text);
  };
  const add = (count: number, params: object, tool = 'no_op') => {
    const tasks = Array.from({ length: count }, () => ({ function: tool, params }));
    return ask({ action: 'add_batch', batch: BATCH, tasks });
  };
  try {
    return await measure({ file, coordinator, executor, ask, add });
  } finally {
    await executor.close();
    await store.close();
    await coordinator.close();
    folder.remove();
  }
}

function heldMb(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}
