import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchAnswer } from '../../batch/answer.ts';
import type { Store } from '../../store/store.ts';
import type { Io } from '../output/io.ts';

export interface Detached {
  /** The process that runs the batch. */
  readonly pid: number;
  /** Its answer, if it has already ended. */
  readonly answer: BatchAnswer | undefined;
}

const POLL_MS = 25;

/**
 * Starts this program as a process of its own, and waits until it holds the batch, so that `watch` and `wait` find it
 * running. If it ends before that, returns its answer.
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
      // Including what other children must not inherit: this one is Volley itself.
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
      await sleep(POLL_MS);
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
      'The process ended before it could run the batch. For details, run volley start without --detach.',
    );
  return JSON.parse(text) as BatchAnswer;
}
