import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Repository } from '../../../src/git/repository.ts';
import { TaskFolder } from '../../../src/tasks/files/task-folder.ts';
import { TamperGuard } from '../../../src/tasks/run/tamper-guard.ts';
import { FeatureProject } from './feature-project.ts';
import { commitAll } from './runner.ts';

test('a worktree that is half made is not taken for tampering', async () => {
  const project = new FeatureProject({
    '01': { deliverables: ['a'], behaviour: { kind: 'script', script: 'echo work > a' } },
  });
  commitAll(project);
  const repository = await Repository.open(project.folder);
  const guard = await TamperGuard.open(new TaskFolder(project.folder), 'auth', new Map(), repository);
  const made = join(project.folder, '.git/worktrees/half');
  let checking = Promise.resolve();
  await repository.exclusive(async () => {
    mkdirSync(made, { recursive: true });
    writeFileSync(join(made, 'commondir'), '');
    checking = guard.check();
    await Promise.race([checking, sleep(200)]);
    writeFileSync(join(made, 'commondir'), '../..\n');
  });
  await checking;
  await guard.close();
  expect(guard.tamperings).toEqual([]);
});
