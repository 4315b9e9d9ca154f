import { describe, expect, it } from 'vitest';
import { createColors } from '../../../src/cli/output/colors.ts';
import { dryRunText, planDryRun } from '../../../src/cli/session/dry-run.ts';

const OPTIONS = { colors: createColors(false), columns: 80 };
const task = (id: string, dependsOn: string[] = [], expectedMs: number | undefined = undefined) => ({
  id,
  name: `Task ${id}`,
  function: 'tool',
  dependsOn,
  expectedMs,
});

describe('the plan of a batch', () => {
  it('shows waves, the critical path, the order and the expected time', () => {
    const plan = planDryRun(
      'audit',
      [task('a', [], 1000), task('b', [], 3000), task('c', ['a', 'b'], 2000), task('d', [], 1000)],
      2,
    );
    expect(dryRunText(plan, OPTIONS)).toBe(`audit: 4 tasks, 2 at once; dry run, nothing was started
  takes about 5 s for 7 s of work, 1.4× the speed of one task at a time

Waves (2)
  3 → 1

Critical path (2 tasks, 5 s)
  Task b 3 s
  Task c 2 s

Order
  starts  wave  task    function  depends on
       0     1  Task b  tool
       0     1  Task a  tool
     1 s     1  Task d  tool
     3 s     2  Task c  tool      Task a and Task b
`);
  });

  it('is honest about what nobody knows', () => {
    expect(dryRunText(planDryRun('x', [task('a'), task('b')], 1), OPTIONS)).toContain(
      'Durations are not known yet',
    );
    const mixed = dryRunText(
      planDryRun('x', [task('a', [], 500), { ...task('b'), function: 'agent' }], 1),
      OPTIONS,
    );
    expect(mixed).toContain('takes about 1 s');
    expect(mixed).toContain('The duration of agent is not known yet');
  });

  it('bounds what it lists, and takes a long chain', () => {
    const chain = Array.from({ length: 3000 }, (_, index) =>
      task(String(index), index === 0 ? [] : [String(index - 1)], 10),
    );
    const plan = planDryRun('chain', chain, 4);
    expect(plan.criticalPathMs).toBe(30_000);
    expect(plan.expectedMs).toBe(30_000);
    const lines = dryRunText(plan, OPTIONS).split('\n');
    expect(lines.length).toBeLessThan(60);
    expect(lines).toContain('  … 2992 more tasks …');
    expect(lines).toContain('  … and 2,970 more');
  });

  it('of nothing is empty', () => {
    expect(dryRunText(planDryRun('none', [], 2), OPTIONS)).toContain('none: no open tasks');
  });
});
