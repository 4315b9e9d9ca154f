import { expect, it } from 'vitest';
import type { RunReport } from '../../src/tasks/run/report.ts';
import { runBuilt } from '../e2e/support/built-volley.ts';
import { FeatureProject } from '../tasks/run/feature-project.ts';

const AGENT =
  'date +%s%3N > out/$VOLLEY_SUBTASK.times; sleep 2; echo done > out/$VOLLEY_SUBTASK; date +%s%3N >> out/$VOLLEY_SUBTASK.times';

/** How long 8 agents take together, in terms of the slowest of them, from when the first one began. */
async function measure(): Promise<number> {
  const seqs = Array.from({ length: 8 }, (_, place) => `0${place + 1}`);
  const project = new FeatureProject(
    Object.fromEntries(seqs.map((seq) => [seq, { deliverables: [`out/${seq}`, `out/${seq}.times`] }])),
  );
  const command = JSON.stringify(['/bin/sh', '-c', AGENT]);
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

it('8 agents of 2 s, 8 at once, end within 1.15 times the slowest of them after the set-up', async () => {
  const ratios: number[] = [];
  // Others may use the machine for a moment.
  while (ratios.length < 3 && !ratios.some((ratio) => ratio <= 1.15)) ratios.push(await measure());
  expect(Math.min(...ratios), ratios.join(', ')).toBeLessThanOrEqual(1.15);
}, 90_000);
