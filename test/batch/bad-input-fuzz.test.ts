import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { amount } from '../support/depth.ts';
import { openRig } from './support/rig.ts';

const ACTIONS = `add add_batch start status results logs export clear stop cancel retry wait list`.split(' ');
const FIELDS = `batch id ids all name function params priority max_retries depends_on timeout resources
  on_dependency_failure tasks max_concurrent fail_fast graceful filter_status format offset limit length
  output_file detailed __proto__ constructor toString`.split(/\s+/);

/** Values of every kind, of which many are nearly right. */
const odd = fc.oneof(
  fc.constantFrom(
    ...[
      null,
      undefined,
      true,
      '',
      ' ',
      'echo',
      'default',
      't1',
      'high',
      'json',
      'all',
      'auto',
      '\0',
      '\ud800',
    ],
    ...[-1, 0, -0, 1.5, 1e300, 2 ** 53, Number.NaN, Number.NEGATIVE_INFINITY, 10n, Symbol('odd')],
    ...['‮x', 'é'.normalize('NFD'), '👩‍👩‍👧', '../x', '/etc/passwd', '${t1}', '__proto__'],
  ),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.double(),
  fc.integer(),
  fc.anything({ maxDepth: 2, withNullPrototype: true, withBigInt: true, withSparseArray: true }),
);
const fields = fc.dictionary(fc.constantFrom(...FIELDS), odd, { maxKeys: 6 });
const task = fc
  .record({ function: fc.constantFrom('echo', 'ecko', 'broken') })
  .chain((base) => fields.map((more) => ({ ...more, ...base })));
const request = fc.oneof(
  odd,
  fields,
  fc.tuple(fc.constantFrom(...ACTIONS), fields).map(([action, args]) => ({ ...args, action })),
  task.map((args) => ({ ...args, action: 'add' })),
  fc.array(task, { maxLength: 4 }).map((tasks) => ({ action: 'add_batch', tasks })),
  fc.tuple(fc.constantFrom(...ACTIONS), fields).map(([action, args]) => ({ tool_args: { ...args, action } })),
);

describe('any request at all', () => {
  it('is answered clearly or done; what is refused has changed nothing', { timeout: 300_000 }, async () => {
    const { executor, store } = await openRig();
    const total = async () =>
      (await store.batches()).reduce(
        (sum, { counts }) => sum + Object.values(counts).reduce((a, b) => a + b, 0),
        0,
      );
    await executor.handle({ action: 'add', id: 't1', function: 'echo' });
    await fc.assert(
      fc.asyncProperty(request, async (given) => {
        const before = await total();
        // It would wait for as long as it is told.
        fc.pre(!isWaiting(given));
        const answer = await executor.handle(given);
        expect(typeof answer.text).toBe('string');
        expect(answer.text).not.toMatch(/\n\s+at /);
        JSON.stringify(answer);
        if (answer.ok) return;
        expect(answer.error?.code).not.toBe('INTERNAL');
        expect(answer.text.length).toBeLessThan(3000);
        expect(await total()).toBe(before);
      }),
      { numRuns: amount({ quick: 120, deep: 1500 }) },
    );
  });
});

function isWaiting(given: unknown): boolean {
  const { action, wait } = (given ?? {}) as { action?: unknown; wait?: unknown };
  return action === 'wait' || wait === true;
}
