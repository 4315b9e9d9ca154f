import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { BatchAnswer } from '../../../src/batch/answer.ts';
import { BatchExecutor } from '../../../src/batch/executor/batch-executor.ts';
import type { RunSizes } from '../../../src/batch/run/batch-run.ts';
import type { VolleyConfig } from '../../../src/config/config.ts';
import type { ParallelToolCoordinator } from '../../../src/coordinator/coordinator.ts';
import type { RetryOptions } from '../../../src/core/retry.ts';
import { loadStore } from '../../../src/store/open/load-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { broken, echo, openTestCoordinator } from '../../coordinator/support.ts';
import { type Gate, gate } from '../../engine/support/gate.ts';
import { newSchema } from '../../store/support/postgres.ts';
import { sharedPostgres } from '../../support/postgres.ts';

export interface Rig {
  readonly executor: BatchExecutor;
  readonly coordinator: ParallelToolCoordinator;
  readonly store: Store;
  readonly folder: string;
  /** The file of the store, or its address. */
  readonly file: string;
  /** The answer to a request that must be done. */
  ask(action: string, args?: object): Promise<BatchAnswer>;
  /** The state of all tasks of a batch: `t1 completed`, `t2 failed error: it broke`, `t3 failed timeout`. */
  standing(batch?: string): Promise<string[]>;
}

/** Whether the stores of these tests are in PostgreSQL; vitest.config.ts says which tests run on it, too. */
export const isOnPostgres = process.env['VOLLEY_TEST_STORE'] === 'postgres';

/** A place for a store, where nothing is yet. */
export async function newPlace(folder: string): Promise<string> {
  return isOnPostgres ? newSchema(await sharedPostgres()) : join(folder, 'volley.db');
}

/** An executor on a new store in an empty folder, with some tools; closed after the test. */
export async function openRig(
  tools: readonly Tool[] = [],
  change?: (config: VolleyConfig) => VolleyConfig,
  file?: string,
  sizes?: RunSizes,
): Promise<Rig> {
  const { coordinator, folder } = openTestCoordinator(change);
  coordinator.register(echo, broken, ...tools);
  const place = file ?? (await newPlace(folder));
  const store = await loadStore(place);
  const executor = new BatchExecutor({ coordinator, store, ...(sizes && { sizes }) });
  onTestFinished(async () => {
    coordinator.engine.cancelAll('the test is over');
    // A large batch submits more tasks when the others are cancelled.
    await executor.close({ graceMs: 0 });
    await store.close();
  });
  return {
    executor,
    coordinator,
    store,
    folder,
    file: place,
    ask: async (action, args = {}) => {
      const answer = await executor.handle({ action, ...args });
      if (!answer.ok) throw new Error(`${action}: ${answer.error?.code}: ${answer.text}`);
      return answer;
    },
    standing: async (batch = 'default') =>
      (await store.tasks(batch, { limit: 1000 })).map(({ id, status, reason, code, message, cause }) =>
        [
          id,
          status,
          reason === 'error' ? `error: ${code ?? message}` : reason,
          cause && `because of ${cause}`,
        ]
          .filter((part) => part !== undefined)
          .join(' '),
      ),
  };
}

/** A tool whose calls the test ends one by one, by the `key` of their input. */
export class HeldCalls {
  /** The keys, in the order in which calls began. */
  readonly begun: string[] = [];
  private readonly starts = new Map<string, Gate<void>>();
  private readonly ends = new Map<string, Gate<unknown>>();

  tool(name = 'held', properties: { idempotent?: boolean; retry?: RetryOptions } = {}): Tool {
    return defineTool<{ key: string }>({
      name,
      ...properties,
      run: ({ key }, { signal }) => {
        this.begun.push(key);
        this.startOf(key).open();
        const stopped = new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        });
        return Promise.race([this.endOf(key).passed, stopped]);
      },
    }) as Tool;
  }

  started(key: string): Promise<void> {
    return this.startOf(key).passed;
  }

  finish(key: string, value: unknown = key): void {
    this.endOf(key).open(value);
  }

  fail(key: string, message: string): void {
    this.endOf(key).fail(new Error(message));
  }

  private startOf(key: string): Gate<void> {
    return entryOf(this.starts, key);
  }

  private endOf(key: string): Gate<unknown> {
    return entryOf(this.ends, key);
  }
}

function entryOf<T>(gates: Map<string, Gate<T>>, key: string): Gate<T> {
  let found = gates.get(key);
  if (found === undefined) {
    found = gate<T>();
    gates.set(key, found);
  }
  return found;
}
