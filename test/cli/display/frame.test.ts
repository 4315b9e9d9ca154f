import { describe, expect, it } from 'vitest';
import { frameLines } from '../../../src/cli/display/frame.ts';
import type { DisplayedBatch } from '../../../src/cli/display/view.ts';
import { createColors } from '../../../src/cli/output/colors.ts';
import { textWidth } from '../../../src/cli/output/text-layout.ts';
import { runningTask, viewWith } from './support/views.ts';

const NOW = 1_000_000;

function frame(view: DisplayedBatch, columns = 80, rows = 24): string[] {
  const options = { columns, rows, colors: createColors(false), now: NOW };
  return frameLines(view, options).map(({ text }) => text);
}

const BUSY = viewWith({
  counts: { open: 365, running: 3, completed: 620, failed: 3, skipped: 9 },
  progress: 0.634,
  ratePerSecond: 41.2,
  timeLeft: { lowMs: 8200, highMs: 12_100 },
  running: [
    runningTask('Analyze b.py', NOW - 900),
    runningTask('Analyze a.py', NOW - 75_000, { progress: 0.45, step: 'parsing' }),
    runningTask('Analyze c.py', NOW - 4100, { function: 'code_analyzer_tool' }),
  ],
});

describe('the picture of a batch', () => {
  it('has a bar, the counts, the time left, and what runs with the longest first', () => {
    expect(frame(BUSY)).toEqual([
      `audit  ${'━'.repeat(39)}${'─'.repeat(21)}  63%`,
      '620 of 1,000 done · 3 failed · 8 to 10 s left · 3 running · 9 skipped · 41/s',
      '1 min 15 s  Analyze a.py  tool                 45%  parsing',
      '       4 s  Analyze c.py  code_analyzer_tool      ',
      '       0 s  Analyze b.py  tool                    ',
    ]);
  });

  it('counts the results that came from the cache', () => {
    const [, counts] = frame({ ...BUSY, cached: 1200 }, 120);
    expect(counts).toContain('3 running · 1,200 from cache · 9 skipped');
  });

  it('shows long names whole where there is room, and leaves some for what is being done', () => {
    const name = 'src/runners/process/process-failure-table.ts';
    const busy = (more: object) => {
      const running = [runningTask(name, NOW, { function: 'code_analyzer_tool', ...more })];
      return frame(viewWith({ counts: { running: 1 }, running }))[2]!;
    };
    expect(busy({})).toBe(`   0 s  ${name}  code_analyzer_tool`);
    expect(busy({ step: 'parsing' })).toMatch(
      /^ {3}0 s {2}src\/r\S+…\S+table\.ts {2}code_analyzer_tool {2}parsing$/,
    );
  });

  it('never lists more tasks than it counts as running', () => {
    const view = viewWith({
      counts: { open: 5, running: 1 },
      running: [runningTask('a', NOW), runningTask('b', NOW)],
    });
    expect(frame(view)[1]).toBe('0 of 6 done · 2 running');
  });

  it('shows a group as one line, and counts what works', () => {
    const view = viewWith({
      counts: { open: 40, running: 9, completed: 11 },
      running: [
        runningTask('read', NOW - 2000, { isGroup: true, progress: 0.22, step: '11 of 50' }),
        ...Array.from({ length: 8 }, (_, index) => runningTask(`read[${index}]`, NOW, { group: 'read' })),
      ],
    });
    expect(frame(view).slice(1)).toEqual(['11 of 60 done · 8 running', '   2 s  read  tool   22%  11 of 50']);
  });

  it('fits into any terminal, however narrow or low', () => {
    const running = Array.from({ length: 100 }, (_, index) =>
      runningTask(`解析する😀 ${index}`.repeat(9), NOW - index),
    );
    const view = { ...BUSY, running, name: '名'.repeat(200), note: 'Stopping: Ctrl-C again stops at once' };
    for (let columns = 1; columns <= 130; columns++) {
      for (const rows of [1, 2, 3, 4, 5, 10, 50]) {
        const lines = frame(view, columns, rows);
        expect(lines.length).toBeLessThanOrEqual(Math.max(1, rows - 1));
        for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(Math.max(1, columns - 1));
      }
    }
  });

  it('shows the whole of a note on a narrow terminal', () => {
    const note = 'Finishing running tasks, then stopping. Press Ctrl-C again to cancel them.';
    const lines = frame({ ...BUSY, running: [], note }, 40, 20).slice(2);
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.join(' ')).toBe(note);
  });

  it('says how many more there are than fit', () => {
    const running = Array.from({ length: 30 }, (_, index) =>
      runningTask(`task ${index}`, NOW - 1000 * index),
    );
    const lines = frame({ ...BUSY, running }, 80, 8);
    expect(lines).toHaveLength(6);
    expect(lines.at(-1)).toBe('        … and 27 more');
    expect(lines[2]).toContain('task 29');
  });

  it('keeps failures in sight in twenty columns', () => {
    expect(frame(BUSY, 20, 6)[1]).toBe('620/1,000 3 failed');
    expect(frame(viewWith({ counts: { open: 5, completed: 3, failed: 2 } }), 20, 6)[1]).toBe('3/10 2 failed');
  });

  it('is one line where there is room for no more', () => {
    expect(frame(BUSY, 80, 2)).toEqual([
      '63% 620 of 1,000 done · 3 failed · 8 to 10 s left · 3 running · 9 skipped',
    ]);
  });

  it('does not let names and steps speak to the terminal', () => {
    const running = [
      runningTask('\x1b[31mred\x1b]0;title\x07\r\n\x9b2J\u202eevil', NOW, { step: '\x1b[2Jgone\x00' }),
    ];
    const text = frame(viewWith({ running, name: 'a\x1bcb\x07' })).join('');
    expect(text).not.toMatch(/\p{Cc}|\u202e/u);
    expect(text).toContain('red \ufffdevil');
  });

  it('is full only when all is done, and shows a failure however small its share', () => {
    const bar = (progress: number, failed: number, completed: number) =>
      frameLines(viewWith({ progress, counts: { failed, completed } }), {
        columns: 80,
        rows: 24,
        colors: createColors(true),
        now: NOW,
      })[0]!.text;
    expect(bar(0.9999, 0, 9999)).toContain('─');
    expect(bar(0.9999, 0, 9999)).toContain('99%');
    expect(bar(1, 0, 10)).not.toContain('─');
    expect(bar(1, 1, 99_999)).toContain('\x1b[31m━\x1b[39m');
    expect(bar(0, 0, 0)).toContain('0%');
  });
});
