import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { times, withSpread } from '../harness/format.ts';
import { atLeast, type Finding } from '../harness/goals.ts';
import { timeMs } from '../harness/measure.ts';
import type { Case, CaseResult, Report, Scenario } from '../harness/scenario.ts';
import { type EventServer, eventNumber } from './input.ts';

interface SseCase extends Case {
  readonly subscribers: number;
  readonly events: number;
  /** How many happen in one turn of the event loop. */
  readonly perTurn: number;
}

const CLIENTS = fileURLToPath(new URL('./clients.ts', import.meta.url));
const CONTESTANTS: Readonly<Record<string, () => Promise<{ openServer(): Promise<EventServer> }>>> = {
  volley: () => import('./volley.ts'),
  'hono streamSSE': () => import('./hono.ts'),
  'better-sse': () => import('./better-sse.ts'),
  'raw batched': () => import('./raw-batched.ts'),
};
const contestants = Object.keys(CONTESTANTS);
/** An event at a time; and what some fifty executions tell that start and end together. */
const PER_TURN = [1, 100];
/** What is slow is measured with less, after as much to warm up, so that nobody takes minutes. */
const SHARES: Readonly<Record<string, number>> = { 'hono streamSSE': 0.25, 'better-sse': 0.5 };
/** While more than that waits for somebody, nothing is published, so that nobody has to give anything up. */
const MAX_WAITING = 256 * 1024;
const GOALS: readonly (readonly [peer: string, bound: number])[] = [
  ['hono streamSSE', 5],
  ['better-sse', 2],
  ['raw batched', 0.8],
];

export const sse: Scenario<SseCase> = {
  name: 'sse',
  title: 'Events to many clients (SSE)',
  cases: (isQuick) =>
    PER_TURN.flatMap((perTurn) =>
      [1, 10, 100, 1000].map((subscribers) => ({
        label: labelOf(subscribers, perTurn),
        contestants,
        subscribers,
        perTurn,
        events: Math.ceil(((isQuick ? 1 : 3) * (perTurn === 1 ? 150_000 : 600_000)) / (2 + subscribers)),
      })),
    ),
  async measure(name, { subscribers, perTurn, ...work }) {
    const events = Math.ceil(work.events * (SHARES[name] ?? 1));
    const { openServer } = await CONTESTANTS[name]!();
    const server = await openServer();
    const clients = fork(CLIENTS, [String(server.port), String(subscribers)]);
    await once(clients, 'message');
    await publishAll(server, Math.ceil(work.events / 4), Number.POSITIVE_INFINITY, perTurn);
    const ms = await timeMs(async () => {
      const done = once(clients, 'message');
      await publishAll(server, events, events, perTurn);
      await done;
    });
    server.check();
    clients.send('end');
    await once(clients, 'exit');
    return { perSecond: (events * subscribers * 1000) / ms };
  },
  report(results) {
    return {
      tables: results.map(tableOf),
      goals: GOALS.map(([peer, bound]) =>
        atLeast(
          `SSE: volley ≥ ${bound} × ${peer}`,
          bound,
          ' ×',
          results.map((result) => findingOf(result, peer)),
        ),
      ),
    };
  },
};

function labelOf(subscribers: number, perTurn: number): string {
  const clients = subscribers === 1 ? '1 subscriber' : `${subscribers.toLocaleString('en-US')} subscribers`;
  return `${clients}, ${perTurn === 1 ? 'an event at a time' : `${perTurn} in a turn`}`;
}

/** `last` is the number of the event that ends it; without it, it is to warm up. */
async function publishAll(server: EventServer, count: number, last: number, perTurn: number): Promise<void> {
  for (let seq = 1; seq <= count; ) {
    for (let index = 0; index < perTurn && seq <= count; index++, seq++) {
      const sent = server.publish(eventNumber(seq, last));
      if (sent !== undefined) await sent;
    }
    do await nextTurn();
    while (server.responses.some(({ writableLength }) => writableLength > MAX_WAITING));
  }
}

function findingOf({ work, figure }: CaseResult<SseCase>, peer: string): Finding {
  return {
    figure: figure('volley', 'perSecond').median / figure(peer, 'perSecond').median,
    where: work.label,
  };
}

function tableOf({ work, figure }: CaseResult<SseCase>): Report['tables'][number] {
  const ours = figure('volley', 'perSecond').median;
  return {
    title: work.label,
    headers: ['contestant', 'events a second, all clients together', 'volley is so many times as fast'],
    rows: contestants.map((name) => {
      const spread = figure(name, 'perSecond');
      return [name, withSpread(spread, ''), times(ours / spread.median)];
    }),
  };
}
