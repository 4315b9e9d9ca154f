import { describe, expect, it } from 'vitest';
import type { RunReport } from '../../../src/tasks/run/report.ts';
import { isAlive } from '../../support/alive.ts';
import { until } from '../../support/until.ts';
import { FeatureProject } from '../../tasks/run/feature-project.ts';
import { runBuilt } from '../support/built-volley.ts';

describe('agents that do not do what they should', { timeout: 240_000 }, () => {
  it('cost nothing but their own subtask, and the report has the evidence', async () => {
    const project = new FeatureProject(
      {
        '01': { deliverables: ['a'] },
        '02': { deliverables: ['b'], behaviour: { kind: 'fail' } },
        '03': { deliverables: ['c'], behaviour: { kind: 'lie' } },
        '04': { deliverables: ['d'], behaviour: { kind: 'lie-and-force' } },
        '05': { deliverables: ['e'], behaviour: { kind: 'hang' } },
        '06': { deliverables: ['f'], behaviour: { kind: 'crash' } },
        '07': { deliverables: ['g'], parallel: false, behaviour: { files: ['.env.local'] } },
        '08': { deliverables: ['h'], behaviour: { files: ['extra.txt'] } },
        '09': { deliverables: ['i'], depends_on: ['03'] },
        '10': {
          deliverables: ['j'],
          verification: [{ type: 'command', command: 'echo nothing works; exit 4' }],
        },
        '11': { deliverables: ['old'], behaviour: { kind: 'lie' } },
        '12': { deliverables: ['l'], priority: 'high', behaviour: { kind: 'mark-and-hang' } },
      },
      { settings: 'stall = 15\nmax_concurrent = 3' },
    );
    project.put('old', 'was here before\n');
    const ended = await runBuilt(project.folder, ['tasks', 'run', 'auth']);
    expect(ended.status, ended.stderr).toBe(1);
    const report = JSON.parse(project.read('.tmp/tasks/auth/report.json')) as RunReport;
    const found = Object.fromEntries(report.subtasks.map((one) => [one.seq, one]));
    const failures = report.subtasks
      .filter(({ status }) => status === 'failed')
      .map(({ seq, reason, error }) => [seq, reason, error]);
    const containing = (text: string) => expect.stringContaining(text);
    expect(failures).toEqual([
      ['02', 'error', containing('status 3: The compiler is missing')],
      ['03', 'error', containing('c does not exist')],
      ['04', 'error', containing('d does not exist')],
      ['05', 'stalled', containing('15 s')],
      ['06', 'crashed', containing('SIGKILL')],
      ['07', 'error', expect.stringMatching(/\.env\.local.*denied_paths in \[tasks\] of volley\.toml/)],
      ['10', 'error', containing('`echo nothing works; exit 4` exited with status 4, not 0: nothing works')],
      ['11', 'error', containing('old exists but was not changed')],
    ]);
    expect(found['01']).toMatchObject({ status: 'completed', verified: true });
    expect(found['03']).toMatchObject({ word: 'All done, everything works!', evidence: [{ ok: false }] });
    expect(found['08']).toMatchObject({ status: 'completed', outside_deliverables: ['extra.txt'] });
    expect(found['12']).toMatchObject({ status: 'completed', verified: true, attempts: 1 });
    expect(found['12']!.discrepancy).toContain('15 s');
    expect(found['09']).toMatchObject({ status: 'skipped', skipped_because: '03' });
    expect(report.statistics).toMatchObject({ total: 12, completed: 3, failed: 8, skipped: 1 });

    const lines = ended.stdout.split('\n');
    expect(lines.slice(0, 4)).toEqual([
      '## Feature Execution FAILED',
      '',
      'Feature: auth',
      'Status: ❌ PARTIAL FAILURE',
    ]);
    expect(lines).toContain('Recommendation: fix subtasks 02, 03, 04, 05, 06, 07, 10 and 11.');
    expect(lines).toContain('⏭ Subtask 09 - Skipped because subtask 03 did not complete: Do 09');
    for (const seq of ['02', '03', '04', '05', '06', '07', '09', '10', '11'])
      expect(project.subtask(seq), seq).toMatchObject({ status: 'pending' });
    expect(project.subtask('04')).not.toHaveProperty('forced');
    // What it started went with it.
    const children = project.notes('child').map(({ child }) => child!);
    expect(children).toHaveLength(2);
    await until(() => !children.some(isAlive), 'they are gone');
  });
});
