import { numberText } from '../../../src/cli/output/numbers.ts';
import type { Execution, Status } from '../api/wire.ts';
import type { Row } from './row.ts';
import { hasEnded, STATUS_TEXT, STATUSES } from './status.ts';

/** How many items of a group have each status. */
export type ItemCounts = Readonly<Record<Status, number>>;

const NO_ITEMS: ItemCounts = { open: 0, running: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };

/** The items of all groups, counted, by the ids of the groups. */
export function countItems(rows: readonly Row[]): ReadonlyMap<string, ItemCounts> {
  const counts = new Map<string, Record<Status, number>>();
  for (const { group, status } of rows) {
    if (group === null) continue;
    const own = counts.get(group) ?? { ...NO_ITEMS };
    counts.set(group, own);
    own[status]++;
  }
  return counts;
}

export function totalOf(counts: ItemCounts): number {
  return STATUSES.reduce((sum, status) => sum + counts[status], 0);
}

type GroupKind = NonNullable<Execution['group_kind']>;

/** `37 of 50`; if nobody knows how many there will be, `4 rounds`. Undefined before there are items. */
export function doneText(
  { group_kind, status }: Pick<Execution, 'group_kind' | 'status'>,
  counts: ItemCounts | undefined,
): string | undefined {
  if (counts === undefined || group_kind === null) return undefined;
  const total = totalOf(counts);
  const done = total - counts.open - counts.running;
  const isWhole = hasEnded(status) && done === total;
  if (!isWhole && group_kind === 'for_each') return `${numberText(done)} of ${numberText(total)}`;
  const [one, several] = ITEM_NOUN[group_kind];
  return `${numberText(total)} ${total === 1 ? one : several}`;
}

/** The same where there is little room: `37/50`, `× 50`. */
export function shortText(
  { group_kind, status }: Pick<Execution, 'group_kind' | 'status'>,
  counts: ItemCounts,
): string {
  const total = totalOf(counts);
  const done = total - counts.open - counts.running;
  const isWhole = group_kind !== 'for_each' || (hasEnded(status) && done === total);
  return isWhole ? `× ${numberText(total)}` : `${numberText(done)}/${numberText(total)}`;
}

/** `2 failed, 8 running`: what is neither done nor waiting. */
export function noteText(counts: ItemCounts): string {
  const noted = STATUSES.filter(
    (status) => status !== 'completed' && status !== 'open' && counts[status] > 0,
  );
  return noted
    .map((status) => `${numberText(counts[status])} ${STATUS_TEXT[status].toLowerCase()}`)
    .join(', ');
}

/** What makes a group, as a word. */
export const KIND_TEXT: Readonly<Record<GroupKind, string>> = {
  for_each: 'for each',
  repeat: 'repeat',
  program: 'program',
};

/** What its items are called, for one and for several. */
export const ITEM_NOUN: Readonly<Record<GroupKind, readonly [one: string, several: string]>> = {
  for_each: ['item', 'items'],
  repeat: ['round', 'rounds'],
  program: ['call', 'calls'],
};
