import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { BatchExecutor } from '../../../src/batch/batch-executor.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { createCoordinator } from '../../../src/coordinator/create-coordinator.ts';
import { openStore } from '../../../src/store/sqlite-store.ts';
import { TaskFolder } from '../../../src/tasks/files/task-folder.ts';
import { runFeature } from '../../../src/tasks/run/feature-run.ts';
import type { RunRequest } from '../../../src/tasks/run/run-request.ts';
import { git } from '../workspace/support.ts';
import type { FeatureProject } from './feature-project.ts';

/** All that a run needs in this process. */
export async function runner({ folder }: FeatureProject, env: NodeJS.ProcessEnv = process.env) {
  const { config } = await loadConfig({ cwd: folder, env: {}, trusted: true });
  const store = await openStore(join(folder, '.volley/volley.db'));
  const coordinator = await createCoordinator(config);
  const executor = new BatchExecutor({ coordinator, store });
  onTestFinished(async () => {
    await executor.close({ graceMs: 0 });
    await store.close();
    await coordinator.close({ cancel: true });
  });
  const setting = {
    folder: new TaskFolder(folder),
    config,
    executor,
    store,
    coordinator: async () => coordinator,
    env,
  };
  const run = (request: Partial<RunRequest> = {}) => runFeature(setting, { feature: 'auth', ...request });
  return { run, setting, executor, coordinator };
}

/** Makes the project a repository with all of it in the first commit. */
export function commitAll(project: FeatureProject): void {
  const { folder } = project;
  project.put('.gitignore', '.volley/\n.tmp/\n');
  git(folder, 'init', '-q');
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'first');
}
