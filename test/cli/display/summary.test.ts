import { describe, expect, it } from 'vitest';
import { groupFailures, summaryText } from '../../../src/cli/display/summary.ts';
import { createColors } from '../../../src/cli/output/colors.ts';
import { printableLine } from '../../../src/core/printable-text.ts';
import { NO_COUNTS } from './support/views.ts';

const OPTIONS = { colors: createColors(false), columns: 120, program: 'volley' };
const failed = (name: string, reason: string, message: string) => ({
  name,
  function: 'tool',
  reason,
  message,
  attempts: 1,
});

describe('the summary of a run', () => {
  it('tells counts, time, what was slow, what failed and why, and what to do next', () => {
    const failures = groupFailures([
      failed('Analyze b.py', 'timeout', 'ran longer than 5 s'),
      failed('Analyze c.py', 'error', "ENOENT: no such file, open '/project/c.py'"),
      failed('Analyze d.py', 'error', "ENOENT: no such file, open '/project/d.py'"),
    ]);
    const view = {
      name: 'my audit',
      counts: { ...NO_COUNTS, completed: 1995, failed: 3, skipped: 2 },
      hasFailures: true,
      hasRun: true,
      elapsedMs: 24_300,
      workMs: 100_000,
      slowest: [
        { name: 'Analyze a.py', function: 'code_analyzer_tool', durationMs: 12_340 },
        { name: 'Analyze main.py', function: 'code_analyzer_tool', durationMs: 950 },
        { name: 'backup', function: 'backup', durationMs: 90 },
      ],
      failures,
    };
    expect(
      summaryText(view, OPTIONS),
    ).toBe(`✗ my audit: 1,995 of 2,000 completed, 3 failed, 2 skipped; took 24.3 s
  1 min 40 s of work, 4.1× the speed of one task at a time

Slowest
  12.3 s  Analyze a.py     code_analyzer_tool
  950 ms  Analyze main.py  code_analyzer_tool
   90 ms  backup

Failed
  2 × ENOENT: no such file, open '/project/….py'
      Analyze c.py, Analyze d.py
  1 × timeout: ran longer than 5 s
      Analyze b.py

Next
  volley retry --batch 'my audit'                                             reopens the 3 failed and 2 skipped
  volley results --batch 'my audit' --filter-status failed --format detailed  shows each failure
`);
  });

  it('keeps both ends of long names of slow tasks', () => {
    const name = (file: string) => `packages/some/rather/long/folder/of/the/project/${file}.ts`;
    const view = {
      name: 'a',
      counts: { ...NO_COUNTS, completed: 2 },
      hasFailures: false,
      hasRun: true,
      elapsedMs: 1,
      workMs: 1,
      slowest: ['first', 'second'].map((file) => ({ name: name(file), function: 'f', durationMs: 20 })),
      failures: [],
    };
    const text = summaryText(view, { ...OPTIONS, columns: 40 });
    expect(text).toMatch(/^ {2}20 ms {2}packages\S*…\S*\/first\.ts$/m);
    expect(text).toMatch(/^ {2}20 ms {2}packages\S*…\S*\/second\.ts$/m);
  });

  it('puts what a command does below it where there is no room beside it', () => {
    const view = {
      name: 'a',
      counts: { ...NO_COUNTS, failed: 1 },
      hasFailures: true,
      hasRun: true,
      elapsedMs: 1,
      workMs: 1,
      slowest: [],
      failures: [],
    };
    const text = summaryText(view, { ...OPTIONS, columns: 60 });
    expect(text).toContain('  volley retry --batch a\n      reopens the 1 failed\n');
  });

  it('breaks no word in a narrow terminal', () => {
    const message = 'The server at a far away place did not answer in its time';
    const view = {
      name: 'default',
      counts: { ...NO_COUNTS, completed: 5, failed: 4, skipped: 2 },
      hasFailures: true,
      hasRun: true,
      elapsedMs: 1000,
      workMs: 9000,
      slowest: [],
      failures: groupFailures(['one', 'two', 'three', 'four'].map((name) => failed(name, 'error', message))),
    };
    for (const isColored of [true, false]) {
      const text = summaryText(view, { colors: createColors(isColored), columns: 40, program: 'volley' });
      const lines = text.split('\n').map(printableLine);
      expect(lines.filter((line) => line.length > 40 && !line.startsWith('volley'))).toEqual([]);
      expect(lines.join(' ').replace(/ +/g, ' ')).toContain(message);
    }
  });

  it('is short when all went well', () => {
    const view = {
      name: 'default',
      counts: { ...NO_COUNTS, completed: 3 },
      hasFailures: false,
      hasRun: true,
      elapsedMs: 12,
      workMs: 13,
      slowest: [],
      failures: [],
    };
    expect(summaryText(view, OPTIONS)).toBe(`✓ default: all 3 tasks completed in 12 ms

Next
  volley results  shows the results
`);
  });

  it('does not ask to retry what a group or program has handled', () => {
    const view = {
      name: 'default',
      counts: { ...NO_COUNTS, completed: 1, failed: 1, cancelled: 1 },
      hasFailures: false,
      hasRun: true,
      elapsedMs: 12,
      workMs: 13,
      slowest: [],
      failures: groupFailures([failed('program[0]', 'error', 'there is no such file')]),
    };
    expect(summaryText(view, OPTIONS)).toBe(`✓ default: 1 of 3 completed, 1 failed, 1 cancelled in 12 ms

Failed, and handled by the program or group
  1 × there is no such file
      program[0]

Next
  volley results --filter-status failed --format detailed  shows each failure
`);
  });

  it('says how to go on after an interruption', () => {
    const view = {
      name: 'default',
      counts: { ...NO_COUNTS, completed: 3, open: 7 },
      hasFailures: false,
      hasRun: true,
      elapsedMs: 100,
      workMs: 100,
      slowest: [],
      failures: [],
    };
    const text = summaryText(view, OPTIONS);
    expect(text).toContain('◦ default: 3 of 10 completed, 7 not finished; took 100 ms');
    expect(text).toContain('volley start    runs the 7 remaining tasks');
    const one = { ...view, counts: { ...NO_COUNTS, completed: 3, open: 1 } };
    expect(summaryText(one, OPTIONS)).toContain('volley start    runs the remaining task');
  });
});

describe('failures', () => {
  it('are one cause when they differ in numbers, names, paths and quoted texts only', () => {
    const groups = groupFailures(
      Array.from({ length: 500 }, (_, index) =>
        failed(`task ${index}`, 'error', `task ${index}: "${index}" at /a/${index}.txt took ${index} ms`),
      ),
    );
    expect(groups).toEqual([
      { cause: 'task …: "…" at /a/….txt took … ms', count: 500, examples: ['task 0', 'task 1', 'task 2'] },
    ]);
  });

  it('of very many causes are counted together beyond a thousand', () => {
    const word = (index: number) => index.toString(2).replaceAll('0', 'a').replaceAll('1', 'b');
    const groups = groupFailures(
      Array.from({ length: 5000 }, (_, index) => failed('x', 'error', `cause ${word(index)}`)),
    );
    expect(groups).toHaveLength(1001);
    expect(groups[0]).toMatchObject({ cause: 'other causes', count: 4000 });
  });
});
