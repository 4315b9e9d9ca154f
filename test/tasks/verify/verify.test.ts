import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { defaultConfig } from '../../../src/config/config.ts';
import { TaskFolder } from '../../../src/tasks/files/task-folder.ts';
import { CommandRunner } from '../../../src/tasks/verify/command-runner.ts';
import { verifyAndComplete } from '../../../src/tasks/verify/complete.ts';
import { verifySubtask } from '../../../src/tasks/verify/verify.ts';
import { feature, project, projectWith, put, readJson, texts } from '../support/feature.ts';

const commands = new CommandRunner(defaultConfig());
afterAll(() => commands.close());
const env = process.env;

async function verify(root: string, fields: Record<string, unknown>): Promise<string[]> {
  const [subtask] = feature({ '01': fields }).subtasks;
  const evidence = await verifySubtask(subtask!, { folder: root, project: root, commands });
  return evidence.map(({ ok, subject, text }) => `${ok ? 'yes' : 'no'}: ${subject} ${text}`);
}

describe('deliverables', () => {
  const deliverables = ['a.ts', 'src/', 'src/**/*.ts', 'lib/{x,y}.ts', 'gone.ts', '*.md', '!b.ts', '../a.ts'];

  test('must exist: files, folders and globs', async () => {
    const root = project({ 'a.ts': '', 'src/deep/b.ts': '', 'lib/x.ts': '', 'node_modules/c.md': '' });
    const unknown = 'exists (it may be old: no start time was recorded)';
    expect(await verify(root, { deliverables })).toEqual([
      `yes: a.ts ${unknown}`,
      `yes: src/ ${unknown}`,
      `yes: src/**/*.ts ${unknown}`,
      `yes: lib/x.ts ${unknown}`,
      'no: lib/y.ts does not exist',
      'no: gone.ts does not exist',
      'no: *.md does not exist',
      'no: ../a.ts is outside the project, so it cannot be a deliverable',
    ]);
  });

  test('must have changed since the start', async () => {
    const root = project({ 'old.ts': '' });
    const started_at = new Date(Date.now() + 60_000).toISOString();
    expect(await verify(root, { deliverables: ['old.ts'], started_at })).toEqual([
      expect.stringMatching(/^no: old\.ts was not changed since the start/),
    ]);
    put(root, 'src/new.ts', '');
    // An older content that was put there now is new all the same.
    utimesSync(join(root, 'src/new.ts'), 1, 1);
    const before = new Date(Date.now() - 1000).toISOString();
    expect(await verify(root, { deliverables: ['src'], started_at: before })).toEqual([
      'yes: src exists and was changed since the start',
    ]);
  });
});

describe('checks', () => {
  test('look into files', async () => {
    const root = project({ 'a.ts': `${'x'.repeat(70_000)}needle${'x'.repeat(70_000)}`, 'dir/b': '' });
    const verification = [
      { type: 'file_exists', path: 'a.ts' },
      { type: 'file_exists', path: 'b.ts' },
      { type: 'file_contains', path: 'a.ts', text: 'needle' },
      { type: 'file_contains', path: 'a.ts', text: 'hay' },
      { type: 'file_contains', path: 'dir', text: '' },
    ];
    expect(await verify(root, { verification })).toEqual([
      'yes: a.ts exists',
      'no: b.ts does not exist',
      'yes: a.ts contains "needle"',
      'no: a.ts does not contain "hay"',
      'no: dir does not exist or is not a file',
    ]);
  });

  test('run commands in the project, for their exit status, their output, and not for ever', async () => {
    const root = project({ 'a.txt': 'hello' });
    const verification = [
      'test -f a.txt',
      { type: 'command', command: 'cat a.txt; exit 3', expect_exit: 3, expect_text: 'ell' },
      { type: 'command', command: 'cat a.txt', expect_text: 'bye' },
      { type: 'command', command: 'echo 1 failed; echo old >&2; exit 1' },
      { type: 'command', command: 'sleep 60', timeout_seconds: 0.2 },
      { type: 'command', command: 'no-such-program' },
    ];
    expect(await verify(root, { verification })).toEqual([
      'yes: `test -f a.txt` exited with status 0',
      'yes: `cat a.txt; exit 3` exited with status 3 and printed "ell"',
      'no: `cat a.txt` exited with status 0 but did not print "bye": hello',
      'no: `echo 1 failed; echo old >&2; exit 1` exited with status 1, not 0: 1 failed\nold',
      'no: `sleep 60` ran longer than 200 ms and was terminated',
      // 126 where a folder of PATH cannot be searched.
      expect.stringMatching(/^no: `no-such-program` exited with status 12[67], not 0: .*no-such-program/),
    ]);
  });
});

describe('completing', () => {
  test('looks at the work also where what stood in the way is gone a moment later', async () => {
    const root = projectWith({
      '01': { deliverables: ['a.ts'], status: 'blocked', blocked_reason: 'no key' },
    });
    class Unblocking extends TaskFolder {
      override change(...args: Parameters<TaskFolder['change']>) {
        for (const [name, text] of texts({ '01': { deliverables: ['a.ts'] } }))
          put(root, `.tmp/tasks/auth/${name}`, text);
        return super.change(...args);
      }
    }
    const told = verifyAndComplete(
      new Unblocking(root),
      'auth',
      { seq: '01', summary: 'I did it', env },
      commands,
    );
    await expect(told).rejects.toMatchObject({
      code: 'VERIFICATION_FAILED',
      details: { failures: ['a.ts does not exist'] },
    });
    expect(readJson(root, 'auth/subtask_01.json')['status']).toBeUndefined();
  });

  test('believes what is there, not who says so', async () => {
    const root = projectWith({ '01': { deliverables: ['a.ts'], verification: ['grep -q export a.ts'] } });
    const folder = new TaskFolder(root);
    const tell = () => verifyAndComplete(folder, 'auth', { seq: '01', summary: 'I did it', env }, commands);
    await expect(tell()).rejects.toMatchObject({
      code: 'VERIFICATION_FAILED',
      details: { failures: ['a.ts does not exist', expect.stringContaining('`grep')] },
    });
    expect(readJson(root, 'auth/subtask_01.json')['status']).toBeUndefined();
    put(root, 'a.ts', 'export const a = 1;');
    expect(await tell()).toMatchObject({ changed: true });
    expect(readJson(root, 'auth/subtask_01.json')).toMatchObject({
      status: 'completed',
      verified_at: expect.any(String),
    });
    expect(readJson(root, 'auth/task.json')).toMatchObject({
      completed_count: 1,
      subtask_count: 1,
      status: 'completed',
    });
    expect(await tell()).toMatchObject({ changed: false });
  });
});
