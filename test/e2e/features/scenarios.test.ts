import { describe, expect, it } from 'vitest';
import type { RunReport } from '../../../src/tasks/run/report.ts';
import { say } from '../../cli/support/program.ts';
import { FeatureProject } from '../../tasks/run/feature-project.ts';
import { runBuilt } from '../support/built-volley.ts';

const LIMIT = 180_000;

function report(stdout: string): RunReport & { ok: boolean } {
  return JSON.parse(stdout);
}

describe('volley tasks run', { timeout: LIMIT }, () => {
  it('runs three independent components at once, reports, and leaves what comes next to the caller', async () => {
    const api = (name: string, title: string) => ({
      title,
      deliverables: [`src/${name}.ts`],
      behaviour: { meet: 3, mark: true },
    });
    const project = new FeatureProject({
      '01': api('user', 'Write User API'),
      '02': api('product', 'Write Product API'),
      '03': api('order', 'Write Order API'),
      '04': {
        title: 'Write integration tests',
        depends_on: ['01', '02', '03'],
        deliverables: ['test/all.ts'],
      },
    });
    project.put('.tmp/sessions/auth/context.md', 'The session');
    const words = [
      'tasks',
      'run',
      'auth',
      '--subtasks',
      '01,02,03',
      '--session',
      '.tmp/sessions/auth/context.md',
    ];
    const first = await runBuilt(project.folder, words);
    expect(first.status, first.stderr).toBe(0);
    expect(first.stdout.replace(/[\d.]+ (ms|s)\b/g, 'SPAN')).toBe(`## Batch 1 Execution Complete

Feature: auth
Batch: 1
Subtasks: 01, 02, 03
Status: ✅ ALL COMPLETED

### Individual Results:

✅ Subtask 01 - Write User API
   - Status: completed
   - Deliverables: src/user.ts
   - Summary: Did 01 well
   - Time: SPAN by coder

✅ Subtask 02 - Write Product API
   - Status: completed
   - Deliverables: src/product.ts
   - Summary: Did 02 well
   - Time: SPAN by coder

✅ Subtask 03 - Write Order API
   - Status: completed
   - Deliverables: src/order.ts
   - Summary: Did 03 well
   - Time: SPAN by coder

### Batch Statistics:
- Total tasks: 3
- Completed: 3
- Failed: 0
- Success rate: 100%
- Time: SPAN; agents worked SPAN in 3 attempts

### Next Steps:
Batch 1 complete. Ready to proceed to Batch 2 (subtask 04).
Batch 2 depends on: 01, 02, 03 (all now satisfied).
Run it with: volley tasks run auth --batch 2 --session .tmp/sessions/auth/context.md
`);
    expect(project.begun().sort()).toEqual(['01', '02', '03']);
    const prompt = project.notes('start')[0]!.prompt!;
    expect(prompt).toContain(`${project.folder}/.tmp/sessions/auth/context.md`);
    expect(project.subtask('01')).toMatchObject({ status: 'completed', verified_at: expect.any(String) });

    const second = await runBuilt(project.folder, ['tasks', 'run', 'auth', '--batch', '2', '--json']);
    expect(second.status, second.stderr).toBe(0);
    expect(report(second.stdout)).toMatchObject({
      ok: true,
      batch: 2,
      subtasks: [{ seq: '04', discrepancy: null }],
      next: { feature_completed: true, command: 'volley tasks archive auth' },
    });
    const kept = await say(project.folder, ['tasks', 'report', 'auth']);
    expect(kept.stdout).toContain('## Batch 2 Execution Complete');
    const again = await say(project.folder, ['tasks', 'run', 'auth']);
    expect([again.status, again.stdout]).toEqual([0, expect.stringContaining('All subtasks are completed.')]);
    expect(project.begun()).toHaveLength(4);
  });

  it('runs alone what may not run beside others, and in order what depends on it', async () => {
    const project = new FeatureProject({
      '01': { deliverables: ['db'], behaviour: { ms: 100 } },
      '02': { deliverables: ['auth'], behaviour: { ms: 100 } },
      '03': { deliverables: ['log'], parallel: false, behaviour: { ms: 100 } },
      '04': { deliverables: ['api'], depends_on: ['01', '02', '03'] },
    });
    const { status, stderr } = await runBuilt(project.folder, ['tasks', 'run', 'auth']);
    expect(status, stderr).toBe(0);
    const running = new Set<string>();
    for (const { event, seq } of project.notes()) {
      if (event === 'start') {
        if (seq === '03' || running.has('03')) expect([...running]).toEqual([]);
        running.add(seq);
      } else running.delete(seq);
    }
    expect(project.begun().at(-1)).toBe('04');
  });

  it('gives each subtask to the agent that it suggests, and refuses agents that nobody has allowed', async () => {
    const project = new FeatureProject({
      '01': { deliverables: ['ui'], suggested_agent: 'OpenFrontendSpecialist', behaviour: { meet: 2 } },
      '02': { deliverables: ['api'], suggested_agent: 'CoderAgent', behaviour: { meet: 2 } },
      '03': { deliverables: ['both'], depends_on: ['01', '02'] },
    });
    const refused = await say(project.folder, ['tasks', 'run', 'auth', '--json']);
    expect(refused.status).toBe(2);
    expect(report(refused.stdout)).toMatchObject({
      error: {
        code: 'AGENT_NOT_ALLOWED',
        problems: [
          expect.stringMatching(/"OpenFrontendSpecialist" .* 01/),
          expect.stringMatching(/"CoderAgent" .* 02/),
        ],
      },
    });
    expect(project.notes()).toEqual([]);
    const tables = project.agent('OpenFrontendSpecialist') + project.agent('CoderAgent');
    project.put('volley.toml', project.read('volley.toml') + tables);
    const { status, stdout, stderr } = await runBuilt(project.folder, ['tasks', 'run', 'auth', '--json']);
    expect(status, stderr).toBe(0);
    const agents = report(stdout).subtasks.map(({ agent }) => agent);
    expect(agents).toEqual(['OpenFrontendSpecialist', 'CoderAgent', 'coder']);
  });

  it('starts nothing of a batch that is not safe, and says why', async () => {
    const project = new FeatureProject({
      '01': { deliverables: ['src/**'] },
      '02': { deliverables: ['src/a.ts'] },
      '03': { deliverables: ['c'], parallel: false },
      '04': { deliverables: ['d'], depends_on: ['01'] },
    });
    const words = ['tasks', 'run', 'auth', '--subtasks', '01,02,03,04'];
    const batch = await say(project.folder, words);
    expect(batch.status).toBe(2);
    for (const why of [/"src\/a\.ts" .*"src\/\*\*"/, /03 .*"parallel": true/, /04 waits for 01/])
      expect(batch.stderr).toMatch(why);
    const whole = await say(project.folder, ['tasks', 'run', 'auth']);
    expect([whole.status, whole.stderr]).toEqual([2, expect.stringContaining('--serialize')]);
    expect(project.notes()).toEqual([]);
    const serial = await runBuilt(project.folder, ['tasks', 'run', 'auth', '--serialize']);
    expect(serial.status, serial.stderr).toBe(0);
    const first = project.notes().filter(({ seq }) => seq === '01' || seq === '02');
    expect(first.map(({ event }) => event)).toEqual(['start', 'end', 'start', 'end']);
  });
});
