import { spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { short, withSpread } from '../harness/format.ts';
import { atMost, type Goal } from '../harness/goals.ts';
import type { Case, CaseResult, Scenario } from '../harness/scenario.ts';
import { temporaryFolder } from './folder.ts';

interface GrowthCase extends Case {
  readonly count: number;
}

const PACKAGE = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAM = join(PACKAGE, 'dist/cli/main.js');
const RUN = 'volley run';
const CONCURRENCY = '64';
const BATCH = 'tasks';
/** Runs inside the program: what it used is known only there. */
const REPORT = `data:text/javascript,${encodeURIComponent(
  "import { writeFileSync } from 'node:fs'; process.on('exit', () => writeFileSync(process.env.BENCH_USAGE, JSON.stringify(process.resourceUsage())))",
)}`;
const TOOL = `import { defineTool } from 'volley';
export default defineTool({ name: 'no_op', input: { type: 'object' }, idempotent: true,
  resources: { cpu: 0, memoryMb: 0, io: 'none' }, run: async () => 1 });
`;

/** `volley run` of a file with ever more tasks, from the start of the program to its end. */
export const batchGrowth: Scenario<GrowthCase> = {
  name: 'batch-growth',
  title: 'Growth: volley run of 10,000 to 1,000,000 tasks',
  cases: (isQuick) => (isQuick ? [10_000, 100_000] : [10_000, 100_000, 1_000_000]).map(caseOf),
  async measure(_, { count }) {
    const folder = temporaryFolder();
    try {
      return measureRun(folder.path, count);
    } finally {
      folder.remove();
    }
  },
  report: (results) => ({
    tables: [
      {
        title: `no-ops in a JSON Lines file, ${CONCURRENCY} at the same time: read, checked, stored, run, summed up; then cleared`,
        headers: [
          'tasks',
          'time',
          'CPU',
          'CPU for each',
          'peak memory',
          'store',
          'status',
          'clear',
          'store after it',
        ],
        rows: results.map(rowOf),
      },
    ],
    goals: goalsOf(results),
  }),
};

function goalsOf(results: readonly CaseResult<GrowthCase>[]): Goal[] {
  const [, many, most] = results;
  const memory = results.map(({ work, figure }) => ({
    figure: figure(RUN, 'peakMb').median,
    where: work.label,
  }));
  const goals = [atMost('Growth: volley run takes at most 600 MB', 600, ' MB', memory)];
  if (many === undefined || most === undefined) return goals;
  const figure = cpuOfTask(most) / cpuOfTask(many);
  const text = 'Growth: CPU of a task in a batch of 1,000,000 ≤ 1.5 × that in one of 100,000';
  const where = `${most.work.label} against ${many.work.label}`;
  return [...goals, atMost(text, 1.5, ' ×', [{ figure, where }])];
}

function caseOf(count: number): GrowthCase {
  const label = `${count.toLocaleString('en-US')} tasks`;
  return { label, count, contestants: [RUN], ...(count > 100_000 && { maxRepeats: 1 }) };
}

function cpuOfTask({ work, figure }: CaseResult<GrowthCase>): number {
  return figure(RUN, 'cpuMs').median / work.count;
}

function rowOf(result: CaseResult<GrowthCase>): string[] {
  const { work, figure } = result;
  const seconds = (name: string) => `${short(figure(RUN, name).median / 1000)} s`;
  const megabytes = (name: string) => `${short(figure(RUN, name).median)} MB`;
  return [
    work.count.toLocaleString('en-US'),
    seconds('ms'),
    seconds('cpuMs'),
    `${(1000 * cpuOfTask(result)).toFixed(0)} µs`,
    withSpread(figure(RUN, 'peakMb'), ' MB'),
    megabytes('storeMb'),
    seconds('statusMs'),
    seconds('clearMs'),
    megabytes('clearedMb'),
  ];
}

function measureRun(folder: string, count: number) {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(PACKAGE, join(folder, 'node_modules/volley'));
  writeFileSync(join(folder, 'no-op.mjs'), TOOL);
  writeFileSync(join(folder, 'volley.toml'), '[tools]\nmodules = ["./no-op.mjs"]\n');
  writeTasks(join(folder, `${BATCH}.jsonl`), count);
  const { output: trust } = volley(folder, ['trust', '--print'], '');
  const run = volley(folder, ['run', `${BATCH}.jsonl`, '--max-concurrent', CONCURRENCY, '--json'], trust);
  const { data } = JSON.parse(run.output) as { data: { counts: { completed: number } } };
  if (data.counts.completed !== count)
    throw new Error(`Only ${data.counts.completed} of ${count} completed.`);
  const storeMb = sizeMb(folder);
  const status = volley(folder, ['status', '--batch', BATCH], trust);
  const clear = volley(folder, ['clear', '--batch', BATCH], trust);
  return {
    ms: run.ms,
    cpuMs: run.cpuMs,
    peakMb: run.peakMb,
    storeMb,
    statusMs: status.ms,
    clearMs: clear.ms,
    clearedMb: sizeMb(folder),
  };
}

function volley(cwd: string, args: readonly string[], trust: string) {
  const usage = join(cwd, 'usage.json');
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', REPORT, PROGRAM, ...args], {
    cwd,
    env: { ...process.env, VOLLEY_TRUST: trust, BENCH_USAGE: usage },
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  const ms = performance.now() - start;
  if (status !== 0) throw new Error(`volley ${args.join(' ')}: ${stderr}${stdout}`);
  const used = JSON.parse(readFileSync(usage, 'utf8')) as NodeJS.ResourceUsage;
  const cpuMs = (used.userCPUTime + used.systemCPUTime) / 1000;
  return { output: stdout.trim(), ms, cpuMs, peakMb: used.maxRSS / 1024 };
}

function writeTasks(path: string, count: number): void {
  const file = openSync(path, 'w');
  let text = '';
  for (let index = 0; index < count; index++) {
    text += `{"id":"t${index}","function":"no_op","params":{"index":${index}}}\n`;
    if (text.length < 2 ** 20 && index < count - 1) continue;
    writeSync(file, text);
    text = '';
  }
  closeSync(file);
}

function sizeMb(folder: string): number {
  return statSync(join(folder, '.volley/volley.db')).size / 2 ** 20;
}
