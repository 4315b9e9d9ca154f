import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startRedis } from './start-redis.ts';

/**
 * Starts a Redis server and three workers on this machine, runs a batch on them, and ends everything. Two workers share
 * the folder of the batch. The third has a folder of its own, as on another machine, so it is sent the files it needs.
 */
const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const FILES = 24;
const folder = mkdtempSync(join(tmpdir(), 'volley-demo-'));
const project = join(folder, 'project');
const elsewhere = join(folder, 'elsewhere');
for (const each of [join(project, 'texts'), elsewhere]) mkdirSync(each, { recursive: true });
const tasks = Array.from({ length: FILES }, (_, index) => {
  const [from, to] = [`texts/${index + 1}.txt`, `counts/${index + 1}.txt`];
  writeFileSync(join(project, from), 'word '.repeat(100 * (index + 1)));
  const command = `mkdir -p counts && sleep 0.2 && wc -w < ${from} > ${to}`;
  return {
    id: `count-${index + 1}`,
    function: 'shell',
    params: { command, inputs: [from], outputs: [to] },
  };
});
writeFileSync(join(project, 'demo.json'), JSON.stringify({ tasks }));

const redis = await startRedis();
const env = {
  ...process.env,
  VOLLEY_CLUSTER_KEY: randomBytes(32).toString('hex'),
  VOLLEY_CLUSTER_URL: redis.url,
  VOLLEY_TOOLS_SHELL_ENABLED: 'true',
};
const volley = (cwd: string, ...args: string[]): ChildProcess =>
  spawn(process.execPath, [MAIN, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
const shown = async (...args: string[]): Promise<void> => {
  console.log(`\n$ volley ${args.join(' ')}`);
  const child = volley(project, ...args);
  for (const stream of [child.stdout!, child.stderr!]) stream.pipe(process.stdout, { end: false });
  await once(child, 'exit');
};
const startWorker = (name: string, cwd: string): ChildProcess => {
  const worker = volley(cwd, 'worker', '--name', name);
  for (const input of [worker.stdout!, worker.stderr!])
    createInterface({ input }).on('line', (line) => console.log(`[${name}] ${line}`));
  return worker;
};

console.log('$ volley worker --name a; volley worker --name b; (cd ../elsewhere && volley worker --name c)');
const workers = [startWorker('a', project), startWorker('b', project), startWorker('c', elsewhere)];
try {
  // Each says so when it has joined.
  await Promise.all(workers.map((worker) => once(worker.stdout!, 'data')));
  await shown('workers');
  await shown('run', 'demo.json');
  await shown('explain', 'count-1');
  console.log(
    `\n${readdirSync(join(project, 'counts')).length} of ${FILES} counts are in the project's folder.`,
  );
} finally {
  for (const worker of workers) worker.kill('SIGINT');
  await Promise.all(workers.map((worker) => (worker.exitCode === null ? once(worker, 'exit') : undefined)));
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
}
