import { numberText } from '../output/numbers.ts';
import type { FinishedTask } from './finished-task.ts';
import { STATUS_ORDER } from './finished-task.ts';
import { drawnWidth, px, svgText } from './svg.ts';

const FONT = 12;

/** A square of its colour for each status that there is, with how many have it. */
export function legend(tasks: readonly FinishedTask[], x: number, y: number): string[] {
  const counts = new Map<string, number>();
  for (const { status } of tasks) counts.set(status, (counts.get(status) ?? 0) + 1);
  const parts: string[] = [];
  for (const status of STATUS_ORDER) {
    const count = counts.get(status);
    if (count === undefined) continue;
    const text = `${numberText(count)} ${status === 'open' ? 'not started' : status}`;
    parts.push(`<rect class="${status}" x="${px(x)}" y="${px(y - 10)}" width="11" height="11" rx="2"/>`);
    parts.push(svgText(x + 17, y, text, 'class="small"'));
    x += 17 + drawnWidth(text, FONT) + 22;
  }
  return parts;
}
