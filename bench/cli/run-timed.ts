import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Figures } from '../harness/scenario.ts';
import type { ProcessWork } from '../processes/contestant.ts';
import type { CliProgram } from './programs.ts';

/** How often it runs before it is measured, to fill the caches of the file system. */
const WARM_UP_RUNS = 1;

/** Runs a program in a new folder, and measures it from its start to its end. */
export async function runTimed(program: CliProgram, work: ProcessWork): Promise<Figures> {
  for (let run = 0; run < WARM_UP_RUNS; run++) await runOnce(program, work);
  return runOnce(program, work);
}

async function runOnce({ command, files, env }: CliProgram, work: ProcessWork): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-bench-'));
  try {
    for (const [file, text] of Object.entries(files?.(work) ?? {})) await writeFile(join(folder, file), text);
    return await shellTimes(command(work), folder, { ...process.env, ...env });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The shell reports the CPU time of everything that it waited for. */
function shellTimes(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    let ms = 0;
    let report = '';
    const script = `{ ${command}; } >/dev/null 2>&1 || exit 1\necho done >&2\ntimes`;
    const child = spawn('/bin/sh', ['-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stderr.once('data', () => {
      ms = performance.now() - start;
    });
    child.stdout.on('data', (chunk: Buffer) => {
      report += chunk.toString();
    });
    child.once('error', reject);
    child.once('close', (code) => {
      if (code !== 0) reject(new Error(`${command} failed.`));
      else resolve({ ms, cpuMs: cpuOf(report) });
    });
  });
}

/** User and system time in the line about children: `0m1.25s 0m0.50s`. */
function cpuOf(report: string): number {
  const line = report.trim().split('\n').at(-1)!;
  return [...line.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (total, [, minutes, seconds]) => total + Number(minutes) * 60_000 + Number(seconds) * 1000,
    0,
  );
}
