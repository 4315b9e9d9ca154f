import type { GraphContestant } from './random-graph.ts';

export const CONTESTANTS: Readonly<Record<string, () => Promise<{ readonly contestant: GraphContestant }>>> =
  {
    'hand-written Kahn loop': () => import('./kahn-loop.ts'),
    'volley submitAll': () => import('./volley.ts'),
    'p-graph': () => import('./p-graph.ts'),
    'async.auto': () => import('./async-auto.ts'),
  };
