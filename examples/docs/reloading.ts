import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, openCoordinator, watchConfig } from 'volley';

const cwd = await mkdtemp(join(tmpdir(), 'volley-example-'));
await writeFile(join(cwd, 'volley.toml'), '[limits]\nmax_concurrency = 8\n');
let changed = (): void => undefined;
const seen = new Promise<void>((resolve) => {
  changed = resolve;
});

// #region reload
const coordinator = await openCoordinator({ cwd });
const watch = watchConfig(
  await loadConfig({ cwd }),
  ({ config }, { restart }) => {
    coordinator.applyLimits(config);
    if (restart.length > 0) console.log('needs a restart:', restart.join(', '));
    changed();
  },
  (error) => console.error(String(error)),
);
// #endregion reload

await writeFile(join(cwd, 'volley.toml'), '[limits]\nmax_concurrency = 2\n[threads]\nmax = 3\n');
await seen;
watch.close();
await coordinator.close();
await rm(cwd, { recursive: true });
