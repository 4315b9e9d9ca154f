import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type ClusterContestant, WORKERS } from './contestant.ts';

const SCRIPT = fileURLToPath(new URL('./dask_run.py', import.meta.url));
/** Debian's, where its package python3-distributed is. */
const PYTHON = '/usr/bin/python3';

export const hasDask = spawnSync(PYTHON, ['-c', 'import distributed'], { stdio: 'ignore' }).status === 0;

let child: ChildProcessWithoutNullStreams;
let lines: Interface;

export const contestant: ClusterContestant = {
  async prepare(concurrency) {
    child = spawn(PYTHON, [SCRIPT, String(concurrency / WORKERS)]);
    child.stderr.resume();
    lines = createInterface(child.stdout);
    await once(lines, 'line');
  },
  async run(count) {
    child.stdin.write(`${count}\n`);
    await once(lines, 'line');
  },
  async close() {
    const ended = once(child, 'exit');
    child.stdin.end();
    await ended;
  },
};
