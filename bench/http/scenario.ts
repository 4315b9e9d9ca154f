import { times, withSpread } from '../harness/format.ts';
import { atLeast } from '../harness/goals.ts';
import type { Case, Scenario } from '../harness/scenario.ts';
import type { HttpServer } from './input.ts';
import { hasWrk, load } from './load.ts';

interface HttpCase extends Case {
  readonly seconds: number;
}

const WARM_UP_SECONDS = 2;
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
      label: `GET /v1/batches/:id on 16 connections of ${hasWrk ? 'wrk' : 'Node'}`,
      contestants,
      seconds: isQuick ? 3 : 10,
    },
  ],
  async measure(name, { seconds }) {
    const { openServer } = await CONTESTANTS[name]!();
    const server = await openServer();
    await load(server, WARM_UP_SECONDS);
    const before = process.cpuUsage();
    const { requests, perSecond } = await load(server, seconds);
    const { user, system } = process.cpuUsage(before);
    await server.close();
    return { perSecond, cpuMicroseconds: (user + system) / requests };
  },
  report([result]) {
    const { work, figure } = result!;
    const ours = figure('volley', 'perSecond').median;
    const ratio = ours / figure(EMPTY, 'perSecond').median;
    return {
      tables: [
        {
          title: work.label,
          headers: [
            'contestant',
            'requests a second',
            'CPU time of the server for each',
            'volley is so many times as fast',
          ],
          rows: contestants.map((name) => {
            const spread = figure(name, 'perSecond');
            const cpu = withSpread(figure(name, 'cpuMicroseconds'), ' µs');
            return [name, withSpread(spread, ''), cpu, times(ours / spread.median)];
          }),
        },
      ],
      goals: [atLeast(`HTTP: a batch ≥ 0.7 × ${EMPTY}`, 0.7, ' ×', [{ figure: ratio, where: work.label }])],
    };
  },
};
