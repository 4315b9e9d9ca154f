import { setTimeout as sleep } from 'node:timers/promises';
import { VolleyError } from '../../core/errors.ts';
import type { TimeLeft } from '../../core/predict.ts';
import { reasonText, spanText } from '../../core/words.ts';
import type { LeaseHolder } from '../../store/records.ts';
import type { HolderRequest, Store } from '../../store/store.ts';
import type { BatchRun } from './batch-run.ts';
import type { QuotaPause } from './monitor.ts';

/**
 * A request to the process that runs a batch. Requests and answers are rows in the store, so this works for every
 * process, whether it has a server or not.
 */
export type HolderAsk =
  | { readonly action: 'stop'; readonly now: boolean }
  | { readonly action: 'cancel'; readonly ids?: readonly string[] }
  /** Also says why these tasks wait, or the first few. A process of an older version does not. */
  | { readonly action: 'speed'; readonly explain?: readonly string[] | number }
  /** Tasks were added or reopened. Not answered. */
  | { readonly action: 'join'; readonly which: 'new' | 'all' };

/** What only the process that runs a batch knows: its throughput, the predicted time left, and used up quotas. */
export interface Speed {
  readonly ratePerSecond: number | undefined;
  readonly timeLeft: TimeLeft | undefined;
  readonly pauses: readonly QuotaPause[];
}

/** `count`: the tasks that still run, or that were cancelled. */
interface Answer {
  readonly ok: true;
  readonly count: number;
  readonly speed?: Speed;
  readonly waiting?: readonly WaitingTask[];
}

/** Why a task waits. */
export interface WaitingTask {
  readonly id: string;
  readonly text: string;
}

type HolderAnswer = Answer | { readonly ok: false; readonly message: string };

export const CANCEL_REASON = 'cancelled by request';

/** Longer than a stopping task may take. */
const WAIT_MS = 15_000;
/** For facts that can be left out. */
const FACT_WAIT_MS = 1000;
const ANSWER_POLL_MS = 50;
/** A poll is one query of a table that is nearly always empty. */
const REQUEST_POLL_MS = 100;

/**
 * Asks the process that runs a batch and returns the number of tasks in its answer, or undefined if the batch is no
 * longer running. Without an answer it withdraws the request and throws.
 */
export async function askHolder(
  { store }: { readonly store: Store },
  batch: string,
  holder: LeaseHolder,
  ask: HolderAsk,
): Promise<number | undefined> {
  return (await answerFrom(store, batch, holder, ask))?.count;
}

/** Asks the process that runs a batch for its speed. */
export async function askSpeed(
  { store }: { readonly store: Store },
  batch: string,
  holder: LeaseHolder,
  waitMs?: number,
): Promise<Speed | undefined> {
  const speed = (await answerFrom(store, batch, holder, { action: 'speed' }, waitMs))?.speed;
  // A process of an older version says nothing of pauses.
  return speed && { ...speed, pauses: speed.pauses ?? [] };
}

/**
 * Asks the process that runs a batch why tasks wait, and for its speed. Returns undefined if it does not answer soon: it
 * may be suspended, and the store knows the rest.
 */
export async function askWhy(
  { store }: { readonly store: Store },
  batch: string,
  holder: LeaseHolder,
  explain: readonly string[] | number,
): Promise<{ readonly speed: Speed; readonly waiting: readonly WaitingTask[] } | undefined> {
  const ask = { action: 'speed', explain } as const;
  const answer = await answerFrom(store, batch, holder, ask, FACT_WAIT_MS).catch(() => undefined);
  if (answer?.speed?.pauses === undefined) return undefined;
  return { speed: answer.speed, waiting: answer.waiting ?? [] };
}

/** Waits until a batch is released, as long as a stopping task may take. Returns whether it was released. */
export async function untilReleased({ store }: { readonly store: Store }, batch: string): Promise<boolean> {
  const deadline = performance.now() + WAIT_MS;
  while ((await store.batch(batch))?.holder !== undefined) {
    if (performance.now() > deadline) return false;
    await sleep(ANSWER_POLL_MS);
  }
  return true;
}

async function answerFrom(
  store: Store,
  batch: string,
  holder: LeaseHolder,
  ask: HolderAsk,
  waitMs = WAIT_MS,
): Promise<Answer | undefined> {
  const request = await store.ask(batch, JSON.stringify(ask));
  if (request === undefined) return undefined;
  const held = `The batch ${JSON.stringify(batch)} is running in ${holderText(holder)}, which`;
  try {
    const deadline = performance.now() + waitMs;
    for (;;) {
      // In this order: a process that is gone now may have answered before.
      const isRun = (await store.batch(batch))?.holder !== undefined;
      const text = await store.answerTo(request);
      if (text !== undefined) {
        const answer = JSON.parse(text) as HolderAnswer;
        if (answer.ok) return answer;
        throw new VolleyError('BATCH_HELD', `${held} refused: ${answer.message}`, { batch, holder });
      }
      if (!isRun) return undefined;
      if (performance.now() > deadline)
        throw new VolleyError(
          'BATCH_HELD',
          `${held} did not answer within ${spanText(waitMs)}. Nothing was changed. The process may be suspended or busy: try again, or end it.`,
          { batch, holder },
        );
      await sleep(ANSWER_POLL_MS);
    }
  } finally {
    await store.forget(request);
  }
}

/** Serves the requests of other processes until the run is done. */
export function serveRequests(run: BatchRun, store: Store): void {
  const serving = new Set<number>();
  let isDone = false;
  const poll = async () => {
    let found: HolderRequest[];
    try {
      found = await store.asked(run.batch);
    } catch {
      // The run itself reports a broken store.
      return;
    }
    for (const request of found) {
      if (isDone || serving.has(request.id)) continue;
      serving.add(request.id);
      void serve(run, store, request);
    }
  };
  const timer = setInterval(() => void poll(), REQUEST_POLL_MS).unref();
  void run.done.then(() => {
    isDone = true;
    clearInterval(timer);
  });
}

async function serve(run: BatchRun, store: Store, { id, body }: HolderRequest): Promise<void> {
  const answer = await obey(run, body);
  try {
    if (answer === undefined) await store.forget(id);
    else await store.answer(id, JSON.stringify(answer));
  } catch {
    // The caller sees the result in the state of the batch.
  }
}

/** Returns undefined if no answer is expected. */
async function obey(run: BatchRun, body: string): Promise<HolderAnswer | undefined> {
  try {
    const ask = JSON.parse(body) as HolderAsk;
    switch (ask.action) {
      case 'stop':
        run.stop({ now: ask.now });
        return { ok: true, count: countRunning(run) };
      case 'cancel':
        return { ok: true, count: await run.cancel(ask.ids ?? 'all', CANCEL_REASON) };
      case 'speed':
        return {
          ok: true,
          count: countRunning(run),
          speed: run.speed(),
          ...(ask.explain !== undefined && { waiting: waitingOf(run, ask.explain) }),
        };
      case 'join':
        if (!run.isStopping && !run.hasEnded) await run.pull(ask.which);
        return undefined;
      default:
        throw new VolleyError(
          'UNKNOWN_ACTION',
          'The process that runs the batch does not support this request.',
        );
    }
  } catch (error) {
    return { ok: false, message: reasonText(error) };
  }
}

function waitingOf(run: BatchRun, explain: readonly string[] | number): WaitingTask[] {
  if (typeof explain === 'number') return run.explainWaiting(explain);
  return explain.flatMap((id) => {
    const text = run.explain(id);
    return text === undefined ? [] : [{ id, text }];
  });
}

function countRunning({ tasks }: BatchRun): number {
  let count = 0;
  for (const { handle } of tasks.values()) if (handle.status === 'running') count++;
  return count;
}

export function holderText({ pid, host }: LeaseHolder): string {
  return `process ${pid} on ${host}`;
}
