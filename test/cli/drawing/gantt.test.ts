import { describe, expect, it } from 'vitest';
import { barsOf, ganttSvg } from '../../../src/cli/drawing/gantt.ts';
import { timelineOf } from '../../../src/cli/drawing/timeline.ts';
import { EVIL, finished } from './support/tasks.ts';
import { checkXml } from './support/xml.ts';

const bars = (svg: string) => [
  ...svg.matchAll(/<rect class="(?:completed|failed)" x="[\d.]+" y="[\d.]+" width="[\d.]+" height="20"/g),
];

describe('a Gantt picture', () => {
  it('draws each task where it ran, with its status, its name and what happened', () => {
    const svg = ganttSvg('audit', [
      finished('a', { startMs: 0, endMs: 1000 }),
      finished('b', { startMs: 500, endMs: 2000, status: 'failed', attempts: 2 }),
      finished('c', { startMs: undefined, endMs: undefined, status: 'skipped' }),
    ]);
    checkXml(svg);
    expect(svg).toContain(
      '2 tasks in 2 s: 2.5 s of work, 1.3× the speed of one task at a time; at most 2 at once',
    );
    expect(svg).toContain(
      '<rect class="completed" x="24" y="95" width="575" height="34" rx="3"><title>Task a (tool): completed, 1 s, from 0 ms to 1 s</title></rect>',
    );
    expect(svg).toContain(
      '<rect class="failed" x="312" y="135" width="863" height="34" rx="3"><title>Task b (tool): failed after 2 attempts, 1.5 s, from 500 ms to 2 s</title></rect>',
    );
    expect(svg).toContain('>✗ Task b</text>');
    for (const text of [
      '1 completed',
      '1 failed',
      '1 skipped',
      '1 task was never started and is not shown.',
    ]) {
      expect(svg).toContain(`>${text}</text>`);
    }
    expect(svg).toContain('prefers-color-scheme:dark');
  });

  it('shows of a path its last parts, as many as there is room for', () => {
    const tasks = [
      finished('a', { name: 'src/batch/actions/all.ts', startMs: 0, endMs: 100 }),
      finished('b', { name: 'src/batch/add-tasks.ts', startMs: 100, endMs: 1000 }),
      finished('c', { name: 'src/batch/a.ts', startMs: 0, endMs: 1000 }),
    ];
    const svg = ganttSvg('audit', tasks);
    expect(svg).toContain('>…/actions/all.ts</text>');
    expect(svg).toContain('>src/batch/add-tasks.ts</text>');
  });

  it('cannot be broken by names', () => {
    const svg = ganttSvg(EVIL, [finished('x', { name: EVIL, function: EVIL, endMs: 5000 })]);
    checkXml(svg);
    expect(svg).not.toContain('<script');
  });

  it('stays small for very many tasks, and as busy as the lanes were', () => {
    const tasks = Array.from({ length: 20_000 }, (_, index) => {
      const start = Math.floor(index / 10) * 10;
      return finished(String(index), {
        startMs: start,
        endMs: start + 10,
        status: index % 10 === 3 ? 'failed' : 'completed',
      });
    });
    const svg = ganttSvg('many', tasks);
    checkXml(svg);
    expect(svg.length).toBeLessThan(2_000_000);
    expect(bars(svg).length).toBeLessThanOrEqual(4000);
    expect(svg).toContain('Consecutive short tasks share a bar');
    const { spans, lengthMs } = timelineOf(tasks);
    const drawn = barsOf(spans, 4000, lengthMs / 1152);
    const covered = drawn.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
    expect(covered).toBe(20_000 * 10);
    expect(drawn.reduce((sum, bar) => sum + bar.spans.length, 0)).toBe(20_000);
    expect(drawn.reduce((sum, bar) => sum + bar.failed, 0)).toBe(2000);
  });

  it('says so when there are more lanes than it draws, or nothing to draw', () => {
    const wide = ganttSvg(
      'wide',
      Array.from({ length: 500 }, (_, index) => finished(String(index))),
    );
    checkXml(wide);
    expect(wide).toContain('Only the first 400 of 500 lanes are shown.');
    const none = ganttSvg('none', [finished('a', { startMs: undefined, endMs: undefined, status: 'open' })]);
    checkXml(none);
    expect(none).toContain('1 task, none started.');
    checkXml(ganttSvg('', []));
  });
});
