import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readTexts } from '../../../src/tasks/files/parse-feature.ts';
import { releaseSubtask } from '../../../src/tasks/files/subtask-changes.ts';
import { TaskFolder } from '../../../src/tasks/files/task-folder.ts';
import { feature, project, projectWith, put } from '../support/feature.ts';

describe('reading a feature', () => {
  test('fills in what is missing', async () => {
    const folder = new TaskFolder(project({ '.tmp/tasks/auth/subtask_01.json': '{}' }));
    const { task, subtasks } = await folder.read('auth');
    expect(task).toBeUndefined();
    expect(subtasks).toMatchObject([
      {
        seq: '01',
        id: 'auth-01',
        title: 'auth-01',
        status: 'pending',
        dependsOn: [],
        parallel: false,
        deliverables: [],
      },
    ]);
  });

  test('takes numbers, single texts, ids and nulls for what they mean', () => {
    const { subtasks, problems } = feature({
      '01': {},
      '2': { seq: 2, depends_on: [1, 'auth-01'], deliverables: 'a.ts', agent_id: null, completed_at: null },
      '03': { depends_on: '2', context_files: ['a.md', { path: 'b.md', lines: '1-9', reason: 'rules' }] },
    });
    expect(problems).toEqual([]);
    expect(subtasks.map(({ seq, dependsOn, deliverables }) => [seq, dependsOn, deliverables])).toEqual([
      ['01', [], []],
      ['02', ['01'], ['a.ts']],
      ['03', ['02'], []],
    ]);
    expect(subtasks[2]!.contextFiles).toEqual([
      { path: 'a.md', lines: undefined, reason: undefined },
      { path: 'b.md', lines: '1-9', reason: 'rules' },
    ]);
  });

  test('orders by number, also beyond 99', () => {
    const { subtasks } = feature({ '100': { depends_on: ['99'] }, '99': {}, '1000': {}, '02': {} });
    expect(subtasks.map(({ seq }) => seq)).toEqual(['02', '99', '100', '1000']);
  });

  test('names the broken files and reads the others', async () => {
    const root = projectWith({ '01': {}, '04': { status: 'completed' } });
    put(root, '.tmp/tasks/auth/subtask_02.json', '{"title": ');
    put(root, '.tmp/tasks/auth/subtask_03.json', '[]');
    put(root, '.tmp/tasks/auth/notes.json', 'not ours');
    const { subtasks, broken, problems } = await new TaskFolder(root).read('auth');
    expect(subtasks.map(({ seq }) => seq)).toEqual(['01', '04']);
    expect(broken.map(({ file }) => file)).toEqual(['subtask_02.json', 'subtask_03.json']);
    expect(problems.map(({ file, code }) => [file, code])).toEqual([
      ['auth/subtask_02.json', 'unreadable'],
      ['auth/subtask_03.json', 'unreadable'],
    ]);
  });

  test('says which field is wrong, and lets an unknown status hold the subtask up', () => {
    const { subtasks, problems } = feature({
      '01': { status: 'done', deliverables: { a: 1 }, started_at: 'soon', parallel: 'yes' },
    });
    expect(subtasks[0]).toMatchObject({
      status: 'blocked',
      deliverables: [],
      startedAt: undefined,
      parallel: false,
    });
    expect(problems).toMatchObject([
      { code: 'status', text: expect.stringContaining('"done"') },
      { code: 'wrong-type', text: '"parallel" is "yes".' },
      { code: 'wrong-type', text: '"deliverables" is {"a":1}.' },
      { code: 'wrong-type', text: '"started_at" is "soon".' },
    ]);
  });
});

test('a change keeps unknown fields, their order and their form', async () => {
  const root = projectWith({});
  const text = '{\n   "mine": {"x":1},\n   "status": "in_progress",\n   "7": 12345678901234567890\n}\n';
  put(root, '.tmp/tasks/auth/subtask_01.json', text);
  await new TaskFolder(root).change('auth', (now) => releaseSubtask(now, { seq: '1' }));
  expect(readFileSync(join(root, '.tmp/tasks/auth/subtask_01.json'), 'utf8')).toBe(
    '{\n   "mine": {"x":1},\n   "status": "pending",\n   "7": 12345678901234567890,\n   "agent_id": null,\n   "started_at": null\n}\n',
  );
});

test('the nearest folder upwards with tasks is taken, but none beyond the repository', () => {
  const root = project({ '.tmp/tasks/auth/task.json': '{}', 'repo/.git/HEAD': '', 'src/deep/a.ts': '' });
  expect(TaskFolder.nearest(join(root, 'src/deep')).project).toBe(root);
  expect(TaskFolder.nearest(join(root, 'repo')).project).toBe(join(root, 'repo'));
});

test('reading does not wait for a pipe or read a device, but follows links to files', async () => {
  const folder = project({ 'a.json': '{}' });
  execFileSync('mkfifo', [join(folder, 'subtask_01.json')]);
  symlinkSync('/dev/zero', join(folder, 'subtask_02.json'));
  symlinkSync('a.json', join(folder, 'subtask_03.json'));
  const texts = await readTexts(folder);
  expect(texts.get('subtask_01.json')).toBeInstanceOf(Error);
  expect(texts.get('subtask_02.json')).toBeInstanceOf(Error);
  expect(texts.get('subtask_03.json')).toBe('{}');
});
