import { expect, it } from 'vitest';
import type { RunReport } from '../../src/tasks/run/report.ts';
import { runBuilt } from '../e2e/support/built-volley.ts';
import { FeatureProject } from '../tasks/run/feature-project.ts';

/** Starting and checking them is less of a long time, so a slow or busy machine gets longer ones as well. */
const AGENT_SECONDS = [2, 2, 6, 18];

const agentOf = (seconds: number) =>
  `date +%s%3N > out/$VOLLEY_SUBTASK.times; sleep ${seconds}; echo done > out/$VOLLEY_SUBTASK; date +%s%3N >> out/$VOLLEY_SUBTASK.times`;

/** How long 8 agents take together, in terms of the slowest of them, from when the first one began. */
async function measure(seconds: number): Promise<number> {
  const seqs = Array.from({ length: 8 }, (_, place) => `0${place + 1}`);
  const project = new FeatureProject(
    Object.fromEntries(seqs.map((seq) => [seq, { deliverables: [`out/${seq}`, `out/${seq}.times`] }])),
  );
  const command = JSON.stringify(['/bin/sh', '-c', agentOf(seconds)]);
  project.put('volley.toml', `[tasks]\nagent = "sleeper"\n[tasks.agents.sleeper]\ncommand = ${command}\n`);
  project.put('out/.keep', '');
  const words = ['tasks', 'run', 'auth', '--max-concurrent', '8', '--json'];
  const { status, stdout, stderr } = await runBuilt(project.folder, words);
  expect(status, stdout + stderr).toBe(0);
  const times = seqs.map((seq) => project.read(`out/${seq}.times`).trim().split('\n').map(Number));
  const slowest = Math.max(...times.map(([start, end]) => end! - start!));
  const begun = Math.min(...times.map(([start]) => start!));
  const { ended_at } = JSON.parse(stdout) as RunReport;
  return (Date.parse(ended_at) - begun) / slowest;
}

it('8 agents of some seconds, 8 at once, end within 1.15 times the slowest of them after the set-up', async () => {
  const ratios: number[] = [];
  for (const seconds of AGENT_SECONDS) {
    ratios.push(await measure(seconds));
    if (ratios.at(-1)! <= 1.15) break;
  }
  expect(Math.min(...ratios), ratios.join(', ')).toBeLessThanOrEqual(1.15);
}, 300_000);
