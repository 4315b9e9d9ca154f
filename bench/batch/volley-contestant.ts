import { BatchExecutor, defaultConfig, ParallelToolCoordinator, type Store } from '../../dist/index.js';
import { type BatchContestant, CONCURRENCY } from './contestant.ts';
import { temporaryFolder } from './folder.ts';
import { HOLD, NO_OP } from './tools.ts';

/** Through `handle`, as a model would: `add_batch`, `start` with `wait`, `results`. */
export function volleyOn(
  open: (folder: string) => Promise<{ readonly store: Store; close?(): Promise<void> }>,
): BatchContestant {
  const folder = temporaryFolder();
  const coordinator = new ParallelToolCoordinator({ config: defaultConfig(folder.path) });
  coordinator.register(NO_OP, HOLD);
  let opened: Awaited<ReturnType<typeof open>> | undefined;
  let executor: BatchExecutor | undefined;
  let batches = 0;

  async function ask(request: object): Promise<unknown> {
    const { ok = false, text, data } = (await executor?.handle(request)) ?? {};
    if (!ok) throw new Error(text);
    return data;
  }

  return {
    async prepare() {
      opened = await open(folder.path);
      executor = new BatchExecutor({ coordinator, store: opened.store });
      // Elsewhere in the program something always runs. Where there is nothing left of a kind of object, V8 throws away the
      // compiled code for it together with the garbage, and the measurement would be one of the compiler.
      await ask({ action: 'add', batch: 'rest', function: 'hold' });
      await ask({ action: 'start', batch: 'rest' });
    },
    async run(count) {
      const batch = `batch-${++batches}`;
      const tasks = Array.from({ length: count }, (_, index) => ({ function: 'no_op', params: { index } }));
      await ask({ action: 'add_batch', batch, tasks });
      await ask({ action: 'start', batch, max_concurrent: CONCURRENCY, wait: true });
      const { counts } = (await ask({ action: 'results', batch })) as { counts: { completed: number } };
      if (counts.completed !== count) throw new Error(`Only ${counts.completed} of ${count} completed.`);
    },
    async close() {
      await executor?.handle({ action: 'cancel', batch: 'rest', all: true });
      await executor?.close();
      await opened?.store.close();
      await opened?.close?.();
      await coordinator.close();
      folder.remove();
    },
  };
}
