import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withSpread } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import type { Scenario } from '../harness/scenario.ts';

const VOLLEY = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** The two sizes of the feature are the contestants. */
const SUBTASKS: Readonly<Record<string, number>> = { '100 subtasks': 100, '1,000 subtasks': 1000 };
const [FEW, MANY] = Object.keys(SUBTASKS) as [string, string];

/** What a run of a feature costs apart from its agents, which write one file each and end. */
export const featureGrowth: Scenario = {
  name: 'growth-features',
  title: 'Growth: the cost of a feature with many subtasks',
  cases: () => [{ label: 'instant agents, 4 at once, each with one deliverable', contestants: [FEW, MANY] }],
  measure: async (name) => ({ cpuS: cpuSecondsOfRun(SUBTASKS[name]!) }),
  report([result]) {
    const { work, figure } = result!;
    const cpu = (name: string) => figure(name, 'cpuS').median;
    return {
      tables: [
        {
          title: 'CPU of volley tasks run and everything it starts',
          headers: ['feature', 'seconds'],
          rows: work.contestants.map((name) => [name, withSpread(figure(name, 'cpuS'), '')]),
        },
      ],
      goals: [
        atMost('Growth: 1,000 instant subtasks ≤ 30 s of CPU', 30, ' s', [
          { figure: cpu(MANY), where: MANY },
        ]),
        atMost('Growth: 10 × the subtasks ≤ 12 × the CPU', 12, ' ×', [
          { figure: cpu(MANY) / cpu(FEW), where: `${MANY} against ${FEW}` },
        ]),
      ],
    };
  },
};

function cpuSecondsOfRun(subtasks: number): number {
  const place = mkdtempSync(join(tmpdir(), 'volley-bench-'));
  // The user's configuration is not in the project, where its files would count as those of agents.
  const [folder, config] = [join(place, 'project'), join(place, 'config')];
  try {
    writeFeature(folder, subtasks);
    const env = { ...process.env, XDG_CONFIG_HOME: config };
    const run = (...args: string[]) =>
      // The second line of `times` has the CPU of all processes that ended, user and system.
      spawnSync('/bin/sh', ['-c', '"$@" > out.json; times', 'sh', process.execPath, VOLLEY, ...args], {
        cwd: folder,
        env,
        encoding: 'utf8',
      });
    run('trust', '--yes');
    const { stdout, stderr } = run('tasks', 'run', 'big', '--json');
    const times = /\n(\d+)m([\d.]+)s (\d+)m([\d.]+)s/.exec(stdout)?.slice(1).map(Number);
    if (times === undefined) throw new Error(`The run did not end: ${stdout} ${stderr}`);
    const [minutes, seconds, systemMinutes, systemSeconds] = times as [number, number, number, number];
    return 60 * (minutes + systemMinutes) + seconds + systemSeconds;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function writeFeature(folder: string, subtasks: number): void {
  const feature = join(folder, '.tmp/tasks/big');
  mkdirSync(feature, { recursive: true });
  mkdirSync(join(folder, 'made'));
  const command = JSON.stringify(['/bin/sh', '-c', 'echo done > "made/$VOLLEY_SUBTASK"']);
  writeFileSync(
    join(folder, 'volley.toml'),
    `[tasks]\nagent = "instant"\n[tasks.agents.instant]\ncommand = ${command}\n`,
  );
  writeFileSync(join(feature, 'task.json'), JSON.stringify({ id: 'big', name: 'Big', status: 'active' }));
  for (let number = 1; number <= subtasks; number++) {
    const seq = String(number).padStart(2, '0');
    const subtask = { seq, title: `Part ${seq}`, parallel: true, deliverables: [`made/${seq}`] };
    writeFileSync(join(feature, `subtask_${seq}.json`), JSON.stringify(subtask));
  }
}
