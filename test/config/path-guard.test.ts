import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { defaultConfig } from '../../src/config/config.ts';
import { PathGuard } from '../../src/config/path-guard.ts';
import { ProtectedPaths } from '../../src/config/protected-paths.ts';

test('a folder beyond the limit of the scan fails the run that made so many, and refuses the next', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'volley-guard-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const guard = new PathGuard(new ProtectedPaths(defaultConfig(folder)), 20);
  const run = await guard.begin(false);
  for (let index = 0; index < 19; index++) mkdirSync(join(folder, `f${index}`));
  expect(await run.end()).toEqual([]);
  const [before, after] = [await guard.begin(false), join(folder, 'one-too-many')];
  mkdirSync(after);
  expect(await before.end()).toMatchObject([{ path: expect.stringContaining(folder) }]);
  await expect(guard.begin(false)).rejects.toMatchObject({ code: 'PATH_PROTECTED' });
  rmSync(after, { recursive: true });
  expect(await (await guard.begin(false)).end()).toEqual([]);
});
