import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TaskStatus } from '../../../src/store/records.ts';
import type { Store } from '../../../src/store/store.ts';
import { amount } from '../../support/depth.ts';
import { done, failed, tasks } from '../support/store.ts';
import type { StoreHarness } from './harness.ts';

export function countTests({ newPlace, open }: StoreHarness): void {
  const batch = fc.constantFrom('a', 'b');
  const seq = fc.integer({ min: 1, max: 12 });
  const status = fc.constantFrom<TaskStatus>(
    'open',
    'running',
    'completed',
    'failed',
    'cancelled',
    'skipped',
  );
  const end = fc.constantFrom(
    done(),
    done(JSON.stringify('x'.repeat(500))),
    failed,
    { status: 'cancelled', message: 'no' } as const,
    { status: 'skipped', cause: undefined } as const,
  );

  /** What may be asked of a store; most of it is refused now and then. */
  const operation = fc.oneof(
    fc.record({
      do: fc.constant('add' as const),
      batch,
      count: fc.constantFrom(1, 3, 150),
      prefix: fc.string(),
    }),
    fc.record({
      do: fc.constant('items' as const),
      batch,
      seq,
      count: fc.constantFrom(1, 3, 150),
      prefix: fc.constantFrom('i', 'j'),
    }),
    fc.record({ do: fc.constant('endItems' as const), batch, seq }),
    fc.record({
      do: fc.constant('cancel' as const),
      batch,
      ids: fc.option(fc.array(fc.constantFrom('t1', 'i1'))),
    }),
    fc.record({ do: fc.constant('start' as const), batch, seq }),
    fc.record({ do: fc.constant('end' as const), batch, seq, end }),
    fc.record({
      do: fc.constant('reopen' as const),
      batch,
      ids: fc.option(fc.array(fc.constantFrom('t1', 't2', 'i1'))),
    }),
    fc.record({ do: fc.constant('clear' as const), batch, statuses: fc.option(fc.array(status)) }),
    fc.record({ do: fc.constant('recover' as const), isIdempotent: fc.boolean() }),
  );

  function perform(store: Store, what: typeof operation extends fc.Arbitrary<infer T> ? T : never) {
    switch (what.do) {
      case 'add':
        return store.addTasks(what.batch, tasks(what.count, what.prefix === '' ? 't' : what.prefix));
      case 'items':
        return store.addItems(what.batch, what.seq, tasks(what.count, what.prefix));
      case 'endItems':
        return store.endItems(what.batch, what.seq, { status: 'skipped', cause: undefined }, 3);
      case 'cancel':
        return store.cancel(what.batch, 'no', what.ids ?? undefined);
      case 'start':
        return store.started(what.batch, what.seq, 1);
      case 'end':
        return store.ended(what.batch, what.seq, what.end, 2);
      case 'reopen':
        return store.reopen(what.batch, what.ids ?? undefined);
      case 'clear':
        return store.clear(what.batch, what.statuses ?? undefined);
      case 'recover':
        return store.recover(() => what.isIdempotent);
    }
  }

  /** The counts of all batches, from the rows of their tasks. */
  async function counted(store: Store) {
    const counting = (await store.batches()).map(async ({ name }) => {
      const counts = { open: 0, running: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };
      for (const task of await store.tasks(name, { limit: 10_000 })) counts[task.status]++;
      return { name, counts };
    });
    return Promise.all(counting);
  }

  describe('counts', () => {
    it('agree with the tasks, whatever is done by two stores on one file', { timeout: 180_000 }, async () => {
      const work = fc.array(fc.tuple(fc.boolean(), fc.boolean(), operation), { maxLength: 60 });
      const check = fc.asyncProperty(work, async (steps) => {
        const place = newPlace();
        const stores = [await open(place), await open(place)] as const;
        const pending: Promise<unknown>[] = [];
        for (const [isFirst, isAwaited, what] of steps) {
          pending.push(perform(stores[isFirst ? 0 : 1], what).catch(expectRefusal));
          if (isAwaited) await Promise.all(pending);
        }
        await Promise.all(pending);
        expect(await stores[0].batches()).toMatchObject(await counted(stores[1]));
        for (const store of stores) await store.close();
      });
      await fc.assert(check, { numRuns: amount({ quick: 12, deep: 25 }) });
    });
  });

  function expectRefusal(error: { code?: string }): void {
    expect(['DUPLICATE_ID', 'UNKNOWN_BATCH', 'UNKNOWN_TASK', 'TASK_SETTLED', 'INVALID_REQUEST']).toContain(
      error.code,
    );
  }
}
