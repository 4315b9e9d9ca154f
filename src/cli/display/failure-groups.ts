import { commonText } from '../../batch/results-summary.ts';
import { printableLine } from '../../core/printable-text.ts';
import { causeText } from './event-lines.ts';
import type { FailedTask } from './view.ts';

/** Failures that have the same cause, as far as their words tell. */
export interface FailureGroup {
  /** What they said, with `…` where their words differ. */
  readonly cause: string;
  readonly count: number;
  /** Names of the first tasks. */
  readonly examples: readonly string[];
}

const MAX_EXAMPLES = 3;
/** More different causes than this are counted together: then the words differ in what does not matter. */
const MAX_GROUPS = 1000;
const LONGEST_CAUSE = 400;
const OTHER_CAUSES = 'other causes';

/**
 * Groups failures by cause, the largest first. Messages that differ only in a number, a quoted text, a path or the
 * task's own name are the same cause.
 */
export function groupFailures(failures: Iterable<FailedTask>): FailureGroup[] {
  const groups = new Map<string, { cause: string; count: number; examples: string[] }>();
  for (const task of failures) {
    const cause = causeText(task, LONGEST_CAUSE);
    const wanted = `${task.reason} ${shapeOf(cause, printableLine(task.name))}`;
    const key = groups.has(wanted) || groups.size < MAX_GROUPS ? wanted : OTHER_CAUSES;
    const known = groups.get(key);
    const group = known ?? { cause: key === OTHER_CAUSES ? OTHER_CAUSES : cause, count: 0, examples: [] };
    if (known === undefined) groups.set(key, group);
    else if (key !== OTHER_CAUSES) group.cause = commonText(group.cause, cause);
    group.count++;
    if (group.examples.length < MAX_EXAMPLES) group.examples.push(printableLine(task.name));
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

/** The message without what differs from task to task. */
function shapeOf(cause: string, name: string): string {
  const withoutName = name === '' ? cause : cause.replaceAll(name, '<name>');
  return withoutName
    .replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '<text>')
    .replace(/(?:[\w.@~-]*[/\\])+[\w.@~-]*/g, '<path>')
    .replace(/\d+(?:\.\d+)?/g, '<number>');
}
