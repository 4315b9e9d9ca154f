import { expect, test } from 'vitest';
import type { WorkerDirectory, WorkerStatus } from '../../src/coordinator/remote-runner.ts';
import { serve, TOKENS } from './support/serve.ts';

const WORKER: WorkerStatus = {
  name: 'a',
  state: 'ready',
  host: 'build',
  pid: 7,
  version: '0.1.0',
  labels: { gpu: true },
  agents: { names: ['codex'], repositories: [{ id: 'r', name: 'shop', tips: [] }] },
  tools: 2,
  lastHeardMs: 250,
  use: [{ name: 'memoryMb', used: 100, limit: 800 }],
  spare: 4,
  calls: [{ id: 'b#1/t1', toolName: 'work' }],
  ended: { completed: 3, failed: 1, cancelled: 0 },
};

test('without a cluster there are no workers', async () => {
  const { json } = await serve();
  expect((await json('GET', '/v1/workers')).body).toEqual({ configured: false, workers: [] });
  expect((await json('POST', '/v1/workers/a/drain')).body).toMatchObject({ code: 'CLUSTER_UNKNOWN_WORKER' });
});

test('workers are listed, measured, and drained by who may run', async () => {
  const drained: string[] = [];
  const workers: WorkerDirectory = {
    list: () => [WORKER, { ...WORKER, name: 'c' }],
    drain: async (name) => name === 'a' && drained.push(name) > 0,
  };
  const { json, fetch: send } = await serve({ workers });
  const { body } = await json('GET', '/v1/workers');
  expect(body).toMatchObject({
    configured: true,
    workers: [
      {
        name: 'a',
        last_heard_ms: 250,
        use: [{ name: 'memory_mb', used: 100, limit: 800 }],
        running: 1,
        calls: [{ id: 'b#1/t1', function: 'work' }],
        ended: { completed: 3, failed: 1, cancelled: 0 },
      },
      { name: 'c' },
    ],
  });
  const metrics = await (await send('/metrics')).text();
  expect(metrics).toContain('volley_workers{state="ready"} 2');
  expect(metrics).toContain('volley_worker_resource_limit{worker="a",resource="memory_mb"} 800');
  expect(metrics).toContain('volley_worker_calls_ended_total{worker="a",status="failed"} 1');
  expect((await send('/v1/workers/a/drain', { method: 'POST', token: TOKENS.read })).status).toBe(403);
  expect((await send('/v1/workers/b/drain', { method: 'POST', token: TOKENS.run })).status).toBe(404);
  expect((await send('/v1/workers/a/drain', { method: 'POST', token: TOKENS.run })).status).toBe(200);
  expect(drained).toEqual(['a']);
});
