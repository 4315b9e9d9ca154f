import { spawnSync } from 'node:child_process';
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import {
  makeTemporaryFolder,
  removeStaleTemporaryFolders,
} from '../../../src/runners/process/confinement.ts';

/** An empty folder that counts as the one for temporary files during the test. */
function emptyTmp(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'volley-test-')));
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
  return folder;
}

it('removes the folders of processes that were killed, and nothing else', async () => {
  const tmp = emptyTmp();
  const own = await makeTemporaryFolder();
  expect(dirname(own)).toBe(tmp);
  const [, namespace, pid] = basename(own).split('-');
  expect(Number(pid)).toBe(process.pid);
  const { pid: dead } = spawnSync('/bin/sh', ['-c', ':']);
  const left = join(tmp, `volley-${namespace}-${dead}-abcDEF`);
  mkdirSync(join(left, 'sub'), { recursive: true });
  writeFileSync(join(left, 'sub', 'a.txt'), 'left');
  const kept = [
    basename(own),
    `volley-${Number(namespace) + 1}-${dead}-abcDEF`,
    `volley-${namespace}-${dead}-project`,
    'volley-abcDEF',
  ];
  for (const name of kept.slice(1)) mkdirSync(join(tmp, name));
  symlinkSync(own, join(tmp, `volley-${namespace}-${dead}-linked`));
  kept.push(`volley-${namespace}-${dead}-linked`);
  if (process.getuid?.() === 0) {
    const name = `volley-${namespace}-${dead}-others`;
    mkdirSync(join(tmp, name));
    chownSync(join(tmp, name), 1234, 1234);
    kept.push(name);
  }
  await removeStaleTemporaryFolders();
  expect(readdirSync(tmp)).toEqual(kept.sort());
});
