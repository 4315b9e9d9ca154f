import { expect, it } from 'vitest';
import { planFeature } from '../../../src/tasks/plan/plan.ts';
import { selectSubtasks } from '../../../src/tasks/run/selection.ts';
import { at, feature } from '../support/feature.ts';

const SUBTASKS = {
  '01': { deliverables: ['a'] },
  '02': { deliverables: ['b'] },
  '03': { deliverables: ['c'], depends_on: ['01', '02'] },
  '04': { deliverables: ['d'], depends_on: ['03'] },
};
const DONE = { status: 'completed' };

function seqs(subtasks: readonly { readonly seq: string }[]): string[] {
  return subtasks.map(({ seq }) => seq);
}

it('batches keep their numbers while the feature goes on, and what is done of one is not asked for again', () => {
  const half = feature({ ...SUBTASKS, '01': { ...SUBTASKS['01'], ...DONE } });
  expect(planFeature(half)).toMatchObject({
    numbers: [1, 2, 3],
    waves: [[{ seq: '02' }], [{ seq: '03' }], [{ seq: '04' }]],
  });
  const first = selectSubtasks(half, { feature: 'auth', batch: 1 }, at());
  expect([seqs(first.subtasks), seqs(first.done), first.batch]).toEqual([['02'], ['01'], 1]);
  const ready = feature({
    ...SUBTASKS,
    '01': { ...SUBTASKS['01'], ...DONE },
    '02': { ...SUBTASKS['02'], ...DONE },
  });
  expect(planFeature(ready).numbers).toEqual([2, 3]);
  expect(seqs(selectSubtasks(ready, { feature: 'auth', batch: 2 }, at()).subtasks)).toEqual(['03']);
  expect(() => selectSubtasks(ready, { feature: 'auth', batch: 4 }, at())).toThrow(
    expect.objectContaining({ code: 'INVALID_VALUE', details: { batch: 4 } }),
  );
});

it('a whole feature leaves out what is blocked or in other hands, and what waits for it', () => {
  const claim = { agent: 'other', heartbeat_at: '2026-02-03T10:00:00Z', lease_until: '2026-02-03T11:00:00Z' };
  const { subtasks, leftOut } = selectSubtasks(
    feature({
      ...SUBTASKS,
      '01': { ...SUBTASKS['01'], status: 'in_progress', claim },
      '05': { deliverables: ['e'], status: 'blocked', blocked_reason: 'no key' },
    }),
    { feature: 'auth' },
    at(),
  );
  expect(seqs(subtasks)).toEqual(['02']);
  expect(leftOut).toEqual([
    { seq: '01', why: 'other is working on it' },
    { seq: '03', why: 'it waits for 01' },
    { seq: '04', why: 'it waits for 03' },
    { seq: '05', why: 'it is blocked (no key)' },
  ]);
});
