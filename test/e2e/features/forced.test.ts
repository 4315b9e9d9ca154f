import { expect, it } from 'vitest';
import type { RunReport } from '../../../src/tasks/run/report.ts';
import { say } from '../../cli/support/program.ts';
import { FeatureProject } from '../../tasks/run/feature-project.ts';
import { runBuilt } from '../support/built-volley.ts';

it('an agent with a cleared environment cannot complete a subtask with --force', {
  timeout: 180_000,
}, async () => {
  const clear = 'env -i PATH="$PATH" HOME="$HOME" XDG_CONFIG_HOME="$XDG_CONFIG_HOME"';
  const complete = `cd "$VOLLEY_TASKS_PROJECT" && ${clear} volley tasks complete auth`;
  const script = `(${complete} 02 Done --force; ${complete} 01 Done --force) > refused 2>&1; exit 0`;
  const project = new FeatureProject({
    '01': { deliverables: ['a'], behaviour: { kind: 'script', script } },
    '02': { deliverables: ['b'], depends_on: ['01'] },
  });
  const { stdout, stderr } = await runBuilt(project.folder, ['tasks', 'run', 'auth', '--json']);
  const report = JSON.parse(stdout) as RunReport;
  expect(
    report.subtasks.map(({ status }) => status),
    stderr,
  ).toEqual(['failed', 'skipped']);
  expect(project.read('refused').match(/SUBTASK_REFUSED|cannot complete a subtask/g)).toHaveLength(2);
  expect(project.subtask('02')).toMatchObject({ status: 'pending' });

  // A person may, and everybody can see it.
  await say(project.folder, ['tasks', 'complete', 'auth', '01', 'By hand', '--force']);
  const { stdout: status } = await say(project.folder, ['tasks', 'status', 'auth']);
  expect(status).toContain('! 01 - Do 01 [completed with --force]');
  const logs = await say(project.folder, ['tasks', 'logs', 'auth', '01']);
  expect(logs.stdout).toMatch(/▶ attempt 1 by coder[\s\S]*✗ /);
  const missing = await say(project.folder, ['tasks', 'logs', 'auth', '02', '--json']);
  expect(JSON.parse(missing.stdout)).toMatchObject({ error: { code: 'INVALID_VALUE' } });
});
