import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startRedis } from './start-redis.ts';

/** Starts a Redis server and three workers on this machine, runs a batch on them, and ends everything. */
const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'volley-demo-'));
const tasks = Array.from({ length: 30 }, (_, index) => ({
  id: `read-${index + 1}`,
  function: 'read_file',
  params: { path: `${(index % 3) + 1}.txt` },
}));
for (const name of ['1', '2', '3'])
  writeFileSync(join(folder, `${name}.txt`), `the content of file ${name}\n`);
writeFileSync(join(folder, 'demo.json'), JSON.stringify({ tasks }));

const redis = await startRedis();
const env = {
  ...process.env,
  VOLLEY_CLUSTER_KEY: randomBytes(32).toString('hex'),
  VOLLEY_CLUSTER_URL: redis.url,
};
const volley = (...args: string[]): ChildProcess => {
  console.log(`$ volley ${args.join(' ')}`);
  return spawn(process.execPath, [MAIN, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
};
const shown = async (child: ChildProcess): Promise<void> => {
  child.stdout!.pipe(process.stdout, { end: false });
  await once(child, 'exit');
};

const workers = ['a', 'b', 'c'].map((name) => volley('worker', '--name', name));
try {
  // Each says so when it has joined.
  await Promise.all(workers.map((worker) => once(worker.stdout!, 'data')));
  await shown(volley('workers'));
  await shown(volley('run', 'demo.json'));
  await shown(volley('workers'));
} finally {
  for (const worker of workers) worker.kill('SIGINT');
  await Promise.all(workers.map((worker) => (worker.exitCode === null ? once(worker, 'exit') : undefined)));
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
}
