import type { BatchPhase } from '../../../src/batch/view.ts';
import type { Batch } from '../api/wire.ts';
import { listOf, listText, type Query } from './route.ts';
import { type BatchStateShown, batchState, runLength } from './text.ts';

const SORT_KEYS = ['name', 'state', 'progress', 'failed', 'duration', 'added'] as const;
export type BatchSortKey = (typeof SORT_KEYS)[number];

/** What the list of batches shows, and how. */
export interface BatchList {
  readonly search: string;
  /** None: all. */
  readonly phases: ReadonlySet<BatchPhase>;
  /** Undefined: those that run first, then the newest first. */
  readonly order: { readonly key: BatchSortKey; readonly isDescending: boolean } | undefined;
}

export const PHASES: readonly BatchPhase[] = ['active', 'unfinished', 'failed', 'succeeded'];

export const PHASE_TEXT: Readonly<Record<BatchPhase, string>> = {
  active: 'Running',
  unfinished: 'Not finished',
  failed: 'With failures',
  succeeded: 'Done',
};

const PHASE_OF: Readonly<Record<BatchStateShown, BatchPhase>> = {
  running: 'active',
  stopping: 'active',
  elsewhere: 'active',
  idle: 'unfinished',
  stopped: 'unfinished',
  empty: 'unfinished',
  done: 'succeeded',
  failed: 'failed',
};

/** The list as the address has it. */
export function batchListOf({ q = '', state, sort = '' }: Query): BatchList {
  const listed = listOf(state);
  const key = SORT_KEYS.find((one) => one === sort.replace(/^-/, ''));
  return {
    search: q,
    phases: new Set(PHASES.filter((one) => listed.includes(one))),
    order: key && { key, isDescending: sort.startsWith('-') },
  };
}

export function batchListQuery({ search, phases, order }: BatchList): Query {
  const sort = order === undefined ? '' : `${order.isDescending ? '-' : ''}${order.key}`;
  return { q: search, state: listText(phases), sort };
}

/** Those that pass, in order. */
export function arrangeBatches(batches: Iterable<Batch>, list: BatchList, now: number): Batch[] {
  const part = list.search.trim().toLowerCase();
  const passing = [...batches].filter(
    (batch) =>
      (list.phases.size === 0 || list.phases.has(PHASE_OF[batchState(batch)])) &&
      batch.batch.toLowerCase().includes(part),
  );
  const { order } = list;
  const compare = order === undefined ? byUrgency : (a: Batch, b: Batch) => compareBy(order.key, a, b, now);
  const sign = order?.isDescending ? -1 : 1;
  return passing.sort((a, b) => sign * compare(a, b) || b.created_at - a.created_at);
}

function byUrgency(a: Batch, b: Batch): number {
  return Number(b.state !== 'idle') - Number(a.state !== 'idle');
}

function compareBy(key: BatchSortKey, a: Batch, b: Batch, now: number): number {
  switch (key) {
    case 'name':
      return NAMES.compare(a.batch, b.batch);
    case 'state':
      return phaseRank(a) - phaseRank(b);
    case 'progress':
      return a.progress - b.progress;
    case 'failed':
      return a.counts.failed - b.counts.failed;
    case 'duration':
      return (runLength(a, now) ?? -1) - (runLength(b, now) ?? -1);
    case 'added':
      return a.created_at - b.created_at;
  }
}

function phaseRank(batch: Batch): number {
  return PHASES.indexOf(PHASE_OF[batchState(batch)]);
}

const NAMES = new Intl.Collator('en', { numeric: true });
