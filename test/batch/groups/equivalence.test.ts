import fc from 'fast-check';
import { expect, it } from 'vitest';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { amount } from '../../support/depth.ts';
import { openRig, type Rig } from '../support/rig.ts';

interface Input {
  readonly value: unknown;
  readonly text?: string;
  readonly at: number;
  readonly fails: boolean;
}

/** Returns what it was given, in whatever order, or fails. */
const given = defineTool<Input>({
  name: 'given',
  run: async ({ fails, ...rest }) => {
    for (let turn = 0; turn < rest.at % 3; turn++) await new Promise(setImmediate);
    if (fails) throw new Error('it failed');
    return rest;
  },
}) as Tool;

async function outcomes(
  rig: Rig,
  batch: string,
  idOf: (index: number) => string,
  count: number,
): Promise<object[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const { status, attempts, message } = (await rig.store.task(batch, idOf(index)))!;
      return { status, attempts, message, result: await rig.store.result(batch, idOf(index)) };
    }),
  );
}

/** Data that looks like references must come out as it went in. */
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom('${item}', '$${x}', '${other.x[0]}', '{{x}}'),
  fc.record({ $from: fc.constantFrom('item', 'other') }),
  fc.record({ $expr: fc.constantFrom('1 + 1', 'item') }),
);
const list = fc.array(fc.record({ value, fails: fc.boolean() }), { maxLength: 12 });

it('a for_each does what the same tasks do that are written out', async () => {
  const rig = await openRig([given]);
  let batches = 0;
  const check = fc.asyncProperty(
    list,
    fc.boolean(),
    fc.option(fc.integer({ min: 1, max: 4 })),
    fc.integer({ min: 1, max: 4 }),
    async (elements, allows, own, max_concurrent) => {
      const [grouped, single] = [`g${++batches}`, `s${batches}`];
      await rig.ask('add_batch', {
        batch: grouped,
        tasks: [
          { id: 'source', function: 'echo', params: { list: [] } },
          {
            id: 'each',
            function: 'given',
            params: {
              value: { $from: 'item', path: '/value' },
              at: { $expr: 'index' },
              fails: { $from: 'item', path: '/fails' },
            },
            // As text, so that nothing in it is taken for a reference when it is added.
            for_each: `source && JSON.parse(${JSON.stringify(JSON.stringify(elements))})`,
            ...(allows && { on_item_error: 'null' }),
            ...(own !== null && { max_concurrent: own }),
          },
        ],
      });
      await rig.ask('start', { batch: grouped, max_concurrent, wait: true });
      if (elements.length > 0) {
        await rig.ask('add_batch', {
          batch: single,
          tasks: elements.map(({ fails }, at) => ({
            id: `t${at}`,
            function: 'given',
            params: { value: null, at, fails },
          })),
        });
        await rig.ask('start', { batch: single, max_concurrent, wait: true });
      }
      const expected = (await outcomes(rig, single, (at) => `t${at}`, elements.length)).map((one, at) => {
        const { result } = one as { result: string | undefined };
        const replaced = result && JSON.stringify({ ...JSON.parse(result), value: elements[at]!.value });
        return { ...one, result: replaced };
      });
      expect(await outcomes(rig, grouped, (at) => `each[${at}]`, elements.length)).toEqual(expected);
      const results = expected.map((one) => ('result' in one && one.result ? JSON.parse(one.result) : null));
      const group = (await rig.store.task(grouped, 'each'))!;
      const isFine = allows || elements.every(({ fails }) => !fails);
      expect(group.status).toBe(isFine ? 'completed' : 'failed');
      if (isFine) expect(JSON.parse((await rig.store.result(grouped, 'each'))!)).toEqual(results);
    },
  );
  await fc.assert(check, { numRuns: amount({ quick: 10, deep: 25 }) });
});
