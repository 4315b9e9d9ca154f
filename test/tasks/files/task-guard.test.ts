import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { TaskCopies } from '../../../src/tasks/files/task-copies.ts';
import { TaskGuard } from '../../../src/tasks/files/task-guard.ts';
import { project, put, texts } from '../support/feature.ts';

test('a file that somebody changed right after Volley had written it differs', async () => {
  const root = project();
  const files = texts({ '01': {} });
  for (const [name, text] of files) put(root, `.tmp/tasks/auth/${name}`, text);
  const guard = new TaskGuard(join(root, '.tmp/tasks'), await TaskCopies.make(root, 'auth'));
  onTestFinished(() => guard.close());
  await guard.add('auth', files);
  expect(await guard.differing()).toEqual([]);

  put(root, '.tmp/tasks/auth/subtask_01.json', '{"edited": true}');
  guard.wrote('auth', 'subtask_01.json', '{"written": true}');
  const written = { feature: 'auth', file: 'subtask_01.json', text: '{"written": true}' };
  expect(await guard.differing()).toEqual([written]);

  put(root, '.tmp/tasks/auth/subtask_01.json', '{"written": true}');
  expect(await guard.differing()).toEqual([]);
});
