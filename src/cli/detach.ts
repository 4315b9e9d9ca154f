import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchAnswer } from '../batch/answer.ts';
import type { Store } from '../store/store.ts';
import type { Io } from './io.ts';

export interface Detached {
  /** The process that runs the batch. */
  readonly pid: number;
  /** What it said, where it has ended already. */
  readonly answer: BatchAnswer | undefined;
}

const LOOK_MS = 25;

/**
 * Starts the program anew, apart from this process, and waits until it has the batch: then `watch` and `wait` find it
 * running. If it is refused, what it says comes back.
 */
export async function startDetached(
  store: Pick<Store, 'batch'>,
  batch: string,
  words: readonly string[],
  { cwd, env }: Pick<Io, 'cwd' | 'env'>,
): Promise<Detached> {
  const folder = mkdtempSync(join(tmpdir(), 'volley-'));
  try {
    const file = join(folder, 'answer.json');
    const output = openSync(file, 'w');
    const before = (await store.batch(batch))?.holder?.since;
    const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...words], {
      cwd,
      // With what main took out of the environment of other children: this one is Volley itself.
      env,
      detached: true,
      stdio: ['ignore', output, 'ignore'],
    });
    closeSync(output);
    await once(child, 'spawn');
    child.unref();
    while (isAlive(child)) {
      const holder = (await store.batch(batch))?.holder;
      if (holder !== undefined && holder.since !== before) return { pid: holder.pid, answer: undefined };
      await sleep(LOOK_MS);
    }
    return { pid: child.pid!, answer: answerIn(file) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function isAlive({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

function answerIn(file: string): BatchAnswer {
  const text = readFileSync(file, 'utf8');
  if (text === '')
    throw new Error(
      'The process ended before it could run the batch. volley start without --detach shows more.',
    );
  return JSON.parse(text) as BatchAnswer;
}
