import type { Status } from '../api/wire.ts';
import { listOf, listText, type Query } from './route.ts';
import type { Row } from './row.ts';
import { STATUSES } from './status.ts';
import { titleOf } from './text.ts';

const SORT_KEYS = ['seq', 'name', 'status', 'function', 'attempts', 'started', 'duration'] as const;
export type SortKey = (typeof SORT_KEYS)[number];

export interface Order {
  readonly key: SortKey;
  readonly isDescending: boolean;
}

export interface Filter {
  /** None: all. */
  readonly statuses: ReadonlySet<Status>;
  readonly function: string;
  readonly search: string;
}

/** What the table shows, and how. */
export interface TableState {
  readonly filter: Filter;
  readonly order: Order;
}

export const NO_FILTER: Filter = { statuses: new Set(), function: '', search: '' };

/** The table as the address has it. */
export function tableOf({ q = '', status, function: functionName = '', sort = '' }: Query): TableState {
  const listed = listOf(status);
  const key = SORT_KEYS.find((one) => one === sort.replace(/^-/, '')) ?? 'seq';
  return {
    filter: {
      statuses: new Set(STATUSES.filter((one) => listed.includes(one))),
      function: functionName,
      search: q,
    },
    order: { key, isDescending: sort.startsWith('-') },
  };
}

/** What the address needs for this table; nothing for what is so anyway. */
export function tableQuery({ filter, order }: TableState): Query {
  const sort = `${order.isDescending ? '-' : ''}${order.key}`;
  return {
    q: filter.search,
    status: listText(filter.statuses),
    function: filter.function,
    sort: sort === 'seq' ? '' : sort,
  };
}

const NONE: ReadonlySet<string> = new Set();

/** What needs a look first, in this order. */
const URGENCY: Readonly<Record<Status, number>> = {
  failed: 0,
  running: 1,
  open: 2,
  skipped: 3,
  cancelled: 4,
  completed: 5,
};

/** Whether somebody looks for something: then items are found in closed groups, too. */
export function isSearch({ statuses, search }: Filter): boolean {
  return statuses.size > 0 || search.trim() !== '';
}

/** Whether items stand below their groups. What was looked for is in one order. */
export function isTree(filter: Filter, { key }: Order): boolean {
  return key === 'seq' || !isSearch(filter);
}

/**
 * The places of the rows that pass, in order. Rows that are equal keep the order in which they were added. The items of
 * a group are below it if it is open, if somebody looks for them, or if it does not pass itself.
 */
export function arrange(
  rows: readonly Row[],
  filter: Filter,
  order: Order,
  now: number,
  opened: ReadonlySet<string> = NONE,
  /** Ids that pass the search for what the rows do not have. */
  found: ReadonlySet<string> = NONE,
): number[] {
  const search = filter.search.trim().toLowerCase();
  const findsItems = isSearch(filter);
  const asTree = isTree(filter, order);
  const tops: number[] = [];
  /** By the ids of the groups that pass; a group always stands before its items. */
  const items = new Map<string, number[]>();
  for (let place = 0; place < rows.length; place++) {
    const row = rows[place]!;
    if (!passes(row, filter, search, found)) continue;
    const own = row.group === null ? undefined : items.get(row.group);
    if (own === undefined) tops.push(place);
    else if (findsItems || opened.has(row.group!)) (asTree ? own : tops).push(place);
    if (row.group_kind !== null) items.set(row.id, []);
  }
  const sign = order.isDescending ? -1 : 1;
  const keys = order.key === 'seq' ? [] : rows.map((row) => keyOf(row, order.key, now));
  const sort = (places: number[]) => {
    if (order.key === 'seq') return order.isDescending ? places.reverse() : places;
    return places.sort((a, b) => sign * compare(keys[a]!, keys[b]!) || a - b);
  };
  if (!asTree || items.size === 0) return sort(tops);
  return sort(tops).flatMap((place) => {
    const own = items.get(rows[place]!.id);
    return own === undefined || own.length === 0 ? [place] : [place, ...sort(own)];
  });
}

/** The first few, those that need a look most in front. */
export function byUrgency(rows: readonly Row[], max: number): Row[] {
  const found: Row[] = [];
  for (const status of Object.keys(URGENCY) as Status[]) {
    for (const row of rows) {
      if (found.length === max) return found;
      if (row.status === status) found.push(row);
    }
  }
  return found;
}

/** How long it has run, or ran, pauses between attempts included. */
export function durationOf({ started_at, ended_at, duration_ms }: Row, now: number): number | undefined {
  // A row that came with an event has no duration of its own until the row is read again.
  if (ended_at !== null && duration_ms !== null) return duration_ms;
  return started_at === null ? undefined : Math.max(0, (ended_at ?? now) - started_at);
}

export function functionsOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.map((row) => row.function))].sort();
}

function passes(
  row: Row,
  { statuses, function: functionName }: Filter,
  search: string,
  found: ReadonlySet<string>,
): boolean {
  if (statuses.size > 0 && !statuses.has(row.status)) return false;
  if (functionName !== '' && row.function !== functionName) return false;
  if (search === '' || found.has(row.id)) return true;
  const { id, name, function: own, reason, code, message } = row;
  return [id, name, own, reason, code, message].some((text) => text?.toLowerCase().includes(search));
}

function keyOf(row: Row, key: SortKey, now: number): string | number {
  switch (key) {
    case 'seq':
      return row.seq;
    case 'name':
      return titleOf(row);
    case 'status':
      return URGENCY[row.status];
    case 'function':
      return row.function;
    case 'attempts':
      return row.attempts;
    case 'started':
      return row.started_at ?? Number.POSITIVE_INFINITY;
    case 'duration':
      return durationOf(row, now) ?? -1;
  }
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === 'string') return NAMES.compare(a, b as string);
  return a === b ? 0 : a < (b as number) ? -1 : 1;
}

/** `task-2` stands before `task-10`. */
const NAMES = new Intl.Collator('en', { numeric: true });
