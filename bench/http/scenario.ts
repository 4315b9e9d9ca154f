import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { times, withSpread } from '../harness/format.ts';
import { atLeast } from '../harness/goals.ts';
import type { Case, Scenario } from '../harness/scenario.ts';
import type { HttpServer } from './input.ts';

interface HttpCase extends Case {
  readonly requests: number;
}

const CLIENTS = fileURLToPath(new URL('./clients.ts', import.meta.url));
const CONNECTIONS = 16;
const EMPTY = 'an empty hono route';
const CONTESTANTS: Readonly<Record<string, () => Promise<{ openServer(): Promise<HttpServer> }>>> = {
  volley: () => import('./volley.ts'),
  [EMPTY]: () => import('./hono.ts'),
};
const contestants = Object.keys(CONTESTANTS);

export const http: Scenario<HttpCase> = {
  name: 'http',
  title: 'Requests over HTTP',
  cases: (isQuick) => [
    {
      label: `GET /v1/batches/:id on ${CONNECTIONS} connections`,
      contestants,
      requests: isQuick ? 20_000 : 100_000,
    },
  ],
  async measure(name, { requests }) {
    const { openServer } = await CONTESTANTS[name]!();
    const server = await openServer();
    const { port, path, token } = server;
    const args = [port, path, CONNECTIONS, requests, ...(token === undefined ? [] : [token])].map(String);
    const clients = fork(CLIENTS, args);
    const [{ ms }] = (await once(clients, 'message')) as [{ ms: number }];
    await server.close();
    return { perSecond: (requests * 1000) / ms };
  },
  report([result]) {
    const { work, figure } = result!;
    const ours = figure('volley', 'perSecond').median;
    const ratio = ours / figure(EMPTY, 'perSecond').median;
    return {
      tables: [
        {
          title: work.label,
          headers: ['contestant', 'requests a second', 'volley is so many times as fast'],
          rows: contestants.map((name) => {
            const spread = figure(name, 'perSecond');
            return [name, withSpread(spread, ''), times(ours / spread.median)];
          }),
        },
      ],
      goals: [atLeast(`HTTP: a batch ≥ 0.7 × ${EMPTY}`, 0.7, ' ×', [{ figure: ratio, where: work.label }])],
    };
  },
};
