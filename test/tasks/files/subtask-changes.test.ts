import { describe, expect, test } from 'vitest';
import { ownIdentity } from '../../../src/store/process-identity.ts';
import type { Feature } from '../../../src/tasks/files/feature.ts';
import { editJson } from '../../../src/tasks/files/json-edit.ts';
import { parseFeature } from '../../../src/tasks/files/parse-feature.ts';
import { readySubtasks, waitingSubtasks } from '../../../src/tasks/files/readiness.ts';
import {
  archiveFields,
  blockSubtask,
  claimSubtask,
  completeSubtask,
  counterFields,
  releaseSubtask,
  type TaskFileChange,
  unblockSubtask,
} from '../../../src/tasks/files/subtask-changes.ts';
import { at, feature, NOW, texts } from '../support/feature.ts';

const MINUTE = 60_000;

/** A feature whose changes are taken over as the files would. */
function board(subtasks: Record<string, Record<string, unknown>>) {
  const files = texts(subtasks);
  const read = (): Feature => parseFeature('auth', files);
  return {
    read,
    apply: (change: TaskFileChange) => {
      files.set(change.file, editJson(files.get(change.file)!, change.fields));
      return read();
    },
  };
}

const claim = (seq: string, agent = 'a', leaseMs = MINUTE) => ({ seq, agent, leaseMs });
const done = (seq: string, more = {}) => ({
  seq,
  summary: 's',
  failures: [],
  passed: 0,
  force: false,
  ...more,
});
const refused = (details: object) =>
  expect.objectContaining({ code: 'SUBTASK_REFUSED', details: expect.objectContaining(details) });
const seqs = (list: readonly { seq: string }[]) => list.map(({ seq }) => seq);

describe('a claim', () => {
  test('makes a subtask somebody’s until the lease runs out', () => {
    const { read, apply } = board({ '01': {} });
    apply(claimSubtask(read(), claim('1'), at()));
    expect(read().subtasks[0]).toMatchObject({ status: 'in_progress', agentId: 'a', startedAt: NOW });
    expect(() => claimSubtask(read(), claim('01', 'b'), at(NOW + MINUTE - 1))).toThrow(
      refused({ seq: '01', agent: 'a', leaseUntil: '2026-02-03T10:01:00.000Z' }),
    );
    expect(readySubtasks(read(), at(NOW + MINUTE - 1))).toEqual([]);
    expect(seqs(readySubtasks(read(), at(NOW + MINUTE)))).toEqual(['01']);
    apply(claimSubtask(read(), claim('01', 'b'), at(NOW + MINUTE)));
    expect(read().subtasks[0]).toMatchObject({ agentId: 'b', startedAt: NOW, claim: { agent: 'b' } });
  });

  test('is renewed by the one that has it, which keeps the start', () => {
    const { read, apply } = board({ '01': {} });
    apply(claimSubtask(read(), claim('1'), at()));
    apply(claimSubtask(read(), claim('1'), at(NOW + 30_000)));
    const [{ startedAt, claim: held }] = read().subtasks as [Feature['subtasks'][0]];
    expect([startedAt, held!.heartbeatAt, held!.leaseUntil]).toEqual([NOW, NOW + 30_000, NOW + 90_000]);
  });

  test('that is bound to a process ends with it', () => {
    const { read, apply } = board({ '01': {} });
    const process = ownIdentity();
    apply(claimSubtask(read(), { ...claim('1'), process }, at()));
    expect(read().subtasks[0]!.claim!.process).toEqual(process);
    expect(readySubtasks(read(), at(NOW))).toEqual([]);
    expect(seqs(readySubtasks(read(), at(NOW, [process.pid])))).toEqual(['01']);
  });

  test('is refused for what waits, is blocked, is done, or is in progress without one', () => {
    const now = feature({
      '01': { status: 'in_progress' },
      '02': { depends_on: ['01', '09'] },
      '03': { status: 'blocked' },
      '04': { status: 'completed' },
    });
    expect(() => claimSubtask(now, claim('01'), at())).toThrow(refused({ seq: '01' }));
    expect(() => claimSubtask(now, claim('02'), at())).toThrow(refused({ open: ['01', '09'] }));
    expect(() => claimSubtask(now, claim('03'), at())).toThrow(refused({ seq: '03' }));
    expect(() => claimSubtask(now, claim('04'), at())).toThrow(refused({ seq: '04' }));
  });

  test('is given back by release, only by its holder where a name is given', () => {
    const { read, apply } = board({ '01': {} });
    apply(claimSubtask(read(), claim('1'), at()));
    expect(() => releaseSubtask(read(), { seq: '01', agent: 'b' })).toThrow(refused({ agent: 'a' }));
    apply(releaseSubtask(read(), { seq: '01', agent: 'a' }));
    expect(read().subtasks[0]).toMatchObject({ status: 'pending', claim: undefined, startedAt: undefined });
    expect(() => releaseSubtask(read(), { seq: '01' })).toThrow(refused({ seq: '01' }));
  });
});

describe('completing', () => {
  test('is refused while dependencies are open, it is blocked, or another has claimed it', () => {
    const { read, apply } = board({
      '01': {},
      '02': { depends_on: ['01', '07'] },
      '03': { status: 'blocked' },
    });
    expect(() => completeSubtask(read(), done('02'), at())).toThrow(
      refused({ obstacles: [expect.stringContaining('01'), expect.stringContaining('07')] }),
    );
    expect(() => completeSubtask(read(), done('03'), at())).toThrow(
      refused({ obstacles: [expect.stringContaining('blocked')] }),
    );
    apply(claimSubtask(read(), claim('01'), at()));
    expect(() => completeSubtask(read(), done('01', { agent: 'b' }), at())).toThrow(
      refused({ obstacles: [expect.stringMatching(/^a /)] }),
    );
    expect(completeSubtask(read(), done('01', { agent: 'b' }), at(NOW + MINUTE))).toBeDefined();
  });

  test('is refused with the evidence against it', () => {
    const failures = ['a.ts does not exist'];
    expect(() => completeSubtask(feature({ '01': {} }), done('01', { failures }), at())).toThrow(
      expect.objectContaining({
        code: 'VERIFICATION_FAILED',
        details: expect.objectContaining({ failures }),
      }),
    );
  });

  test('by force writes down in spite of what', () => {
    const now = feature({ '01': {}, '02': { depends_on: ['01'] } });
    const { fields } = completeSubtask(
      now,
      done('02', { force: true, failures: ['a.ts does not exist'] }),
      at(),
    )!;
    expect(fields).toMatchObject({
      status: 'completed',
      verified_at: undefined,
      forced: { in_spite_of: ['it depends on 01, which is pending', 'a.ts does not exist'] },
    });
  });

  test('notes that it was verified, takes the claim away, and does nothing the second time', () => {
    const { read, apply } = board({ '01': {} });
    apply(claimSubtask(read(), claim('01'), at()));
    const change = completeSubtask(read(), done('01', { passed: 2 }), at())!;
    expect(change.fields).toMatchObject({ verified_at: '2026-02-03T10:00:00.000Z', forced: undefined });
    expect(apply(change).subtasks[0]).toMatchObject({
      status: 'completed',
      claim: undefined,
      completedAt: NOW,
    });
    expect(completeSubtask(read(), done('01'), at())).toBeUndefined();
  });
});

test('blocking holds a subtask up with a reason until it is unblocked', () => {
  const { read, apply } = board({ '01': {}, '02': { depends_on: ['01'] } });
  apply(blockSubtask(read(), { seq: '01', reason: 'no key' }));
  expect(
    waitingSubtasks(read(), at()).map(({ subtask, reason, waitsFor }) => [subtask.seq, reason, waitsFor]),
  ).toEqual([
    ['01', 'no key', []],
    ['02', undefined, ['01']],
  ]);
  apply(unblockSubtask(read(), { seq: '01' }));
  expect(read().subtasks[0]).toMatchObject({ status: 'pending', blockedReason: undefined });
  expect(() => unblockSubtask(read(), { seq: '01' })).toThrow(refused({ seq: '01' }));
});

test('the counters follow, and the feature is completed and opened again with its subtasks', () => {
  const all = { '01': { status: 'completed' }, '02': { status: 'completed' } };
  expect(counterFields(feature(all, { completed_count: 7 }), NOW)).toEqual({
    subtask_count: 2,
    completed_count: 2,
    status: 'completed',
    completed_at: '2026-02-03T10:00:00.000Z',
  });
  const open = feature({ ...all, '03': {} }, { status: 'completed', subtask_count: 3, completed_count: 2 });
  expect(counterFields(open, NOW)).toEqual({ status: 'active', completed_at: null });
});

test('only a finished feature is put away, unless it is forced', () => {
  const open = feature({ '01': { status: 'completed' }, '02': {} });
  expect(() => archiveFields(open, NOW, false)).toThrow(refused({ done: 1, total: 2 }));
  expect(archiveFields(open, NOW, true)).toMatchObject({ status: 'archived' });
});

test('an unknown subtask gets the nearest, and one of two with the same number an error', () => {
  const now = feature({ '01': {}, '02': {}, '11': {} });
  expect(() => blockSubtask(now, { seq: '9', reason: '' })).toThrow(
    expect.objectContaining({
      code: 'UNKNOWN_SUBTASK',
      details: expect.objectContaining({ nearest: '11' }),
    }),
  );
  expect(() => blockSubtask(feature({ '1': {}, '01': {} }), { seq: '1', reason: '' })).toThrow(
    expect.objectContaining({ code: 'INVALID_FEATURE', details: { feature: 'auth', seq: '01' } }),
  );
});
