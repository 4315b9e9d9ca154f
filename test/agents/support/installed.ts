import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RealAgent } from './real-agents.ts';

/** Kept between runs of the tests: the agents are large. */
export const AGENTS_CACHE = fileURLToPath(
  new URL('../../../node_modules/.cache/volley-agents/', import.meta.url),
);

/** The folder with the program of an agent, which is installed from npm where it is not there yet. */
export async function installedAgent({ name, packageName, version }: RealAgent): Promise<string> {
  const folder = join(AGENTS_CACHE, `${name}-${version}`);
  const bin = join(folder, 'node_modules/.bin');
  if (existsSync(join(bin, name))) return bin;
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    await npmInstall(unfinished, `${packageName}@${version}`);
    renameSync(unfinished, folder);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // Another test may have been quicker.
    if (!existsSync(join(bin, name))) throw error;
  }
  return bin;
}

async function npmInstall(folder: string, what: string): Promise<void> {
  const args = [
    'install',
    '--prefix',
    folder,
    '--no-audit',
    '--no-fund',
    '--no-save',
    '--loglevel',
    'error',
    what,
  ];
  const child = spawn('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (status === 0) return;
  throw new Error(
    `The tests of real agents need ${what} from npm, which could not be installed: ${complaints}`,
  );
}
