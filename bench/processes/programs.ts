import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { ProcessContestant, ProcessWork } from './contestant.ts';

/** A program that runs commands in parallel by itself. */
export interface ParallelProgram {
  readonly name: string;
  readonly program: string;
  /** The shell command that does the work, in a folder of its own. */
  command(work: ProcessWork): string;
  /** The files that it needs there. */
  files?(work: ProcessWork): Record<string, string>;
}

export const PROGRAMS: readonly ParallelProgram[] = [
  {
    name: 'xargs -P',
    program: 'xargs',
    command: ({ count, concurrency }) => `seq ${count} | xargs -P${concurrency} -n1 /bin/true`,
  },
  {
    name: 'make -j',
    program: 'make',
    command: ({ concurrency }) => `make -s -j${concurrency}`,
    files: ({ count }) => {
      const targets = Array.from({ length: count }, (_, index) => `t${index}`).join(' ');
      return { Makefile: `all: ${targets}\n${targets}:\n\t@/bin/true\n.PHONY: all ${targets}\n` };
    },
  },
  {
    name: 'ninja -j',
    program: 'ninja',
    command: ({ concurrency }) => `ninja -j${concurrency}`,
    files: ({ count }) => {
      const builds = Array.from({ length: count }, (_, index) => `build t${index}: run\n`).join('');
      return { 'build.ninja': `rule run\n  command = /bin/true\n${builds}` };
    },
  },
  {
    name: 'GNU parallel -j',
    program: 'parallel',
    command: ({ count, concurrency }) => `seq ${count} | parallel -j${concurrency} -N0 /bin/true`,
  },
];

/** Those that this machine has, and the names of the others. */
export function findPrograms(): { present: ReadonlyMap<string, ProcessContestant>; missing: string[] } {
  const present = new Map<string, ProcessContestant>();
  const missing: string[] = [];
  for (const program of PROGRAMS) {
    if (isInstalled(program.program)) present.set(program.name, contestantOf(program));
    else missing.push(program.name);
  }
  return { present, missing };
}

function contestantOf({ name, command, files }: ParallelProgram): ProcessContestant {
  let folder: string | undefined;
  return {
    name,
    async prepare(work) {
      folder = await mkdtemp(join(tmpdir(), 'volley-bench-'));
      for (const [file, text] of Object.entries(files?.(work) ?? {})) {
        await writeFile(join(folder, file), text);
      }
    },
    run: (work) => runShell(command(work), folder!),
    async close() {
      await rm(folder!, { recursive: true });
    },
  };
}

function runShell(command: string, cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], { cwd, stdio: 'ignore' });
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${command} ended with exit status ${code}`));
    });
  });
}

export function isInstalled(program: string): boolean {
  const { PATH = '' } = process.env;
  return PATH.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
