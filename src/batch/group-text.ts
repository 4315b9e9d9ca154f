import { show } from '../core/numbers.ts';
import { countText } from '../core/words.ts';
import type { TaskOptions } from '../store/records.ts';
import { type TaskCounts, totalOf } from './counts.ts';
import { oneLine } from './text.ts';

const MAX_EXPRESSION = 80;
const WHOLE_PLACEHOLDER = /^\$\{([^{}]*)\}$/;

/** What a group does, for a sentence: `once for each item of list.entries`. Undefined for other tasks. */
export function groupText({ forEach, repeat, program }: TaskOptions): string | undefined {
  if (program !== undefined) return 'as a program';
  if (forEach !== undefined) return `once for each ${listText(forEach)}`;
  if (repeat === undefined) return undefined;
  const { until, max } = repeat;
  if (until === undefined) return countText(max, 'time');
  return `again until ${oneLine(until, MAX_EXPRESSION)}, at most ${countText(max, 'time')}`;
}

function listText(forEach: unknown): string {
  if (Array.isArray(forEach)) return `of ${countText(forEach.length, 'item')}`;
  if (typeof forEach === 'string') return `item of ${expressionText(forEach)}`;
  const { glob, $from, path = '', $expr } = forEach as Readonly<Record<string, string | undefined>>;
  if (glob !== undefined) return `file that matches ${show(glob)}`;
  return `item of ${$expr === undefined ? `${$from}${path.replaceAll('/', '.')}` : expressionText($expr)}`;
}

function expressionText(source: string): string {
  const [, reference = source] = WHOLE_PLACEHOLDER.exec(source) ?? [];
  return oneLine(reference, MAX_EXPRESSION);
}

/** What its items are called. */
export function itemNoun({ repeat, program }: TaskOptions): string {
  if (program !== undefined) return 'call';
  return repeat === undefined ? 'item' : 'round';
}

/** How far a group is: `37 of 50, 2 failed`. Of rounds, nobody knows how many there will be. */
export function doneText(counts: TaskCounts, { repeat }: TaskOptions): string {
  const { failed, open, running } = counts;
  const total = totalOf(counts);
  const done = repeat === undefined ? `${total - open - running} of ${total}` : `round ${total}`;
  return failed === 0 ? done : `${done}, ${failed} failed`;
}
