import { spawn } from 'node:child_process';
import type { ProcessContestant } from './contestant.ts';

/** What Node offers: each program in a group of its own, its output captured. */
export const contestant: ProcessContestant = {
  name: "Node's spawn",
  async prepare() {},
  async run({ count, concurrency }) {
    const lane = async () => {
      while (count-- > 0) await runOnce();
    };
    await Promise.all(Array.from({ length: concurrency }, lane));
  },
  async close() {},
};

function runOnce(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/true', { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.on('data', () => {});
    child.stderr.on('data', () => {});
    child.once('error', reject);
    child.once('close', () => resolve());
  });
}
