import { expect, onTestFinished, test } from 'vitest';
import { RESOURCE_TABLE } from '../../../src/core/resource-table.ts';
import type { HubCounts } from '../../../src/server/events/event-hub.ts';
import { ServerMetrics } from '../../../src/server/metrics/server-metrics.ts';
import { STATISTICS } from '../../../src/server/wire/statistics.ts';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { HeldCalls, openRig, type Rig } from '../../batch/support/rig.ts';

const COUNTS: HubCounts = { events: 7, subscribers: 3, opened: 4, resumed: 1, gaps: 2, stalled: 0, lag: 5 };

function measure({ coordinator, store }: Rig): ServerMetrics {
  const metrics = new ServerMetrics({ engine: coordinator.engine, store, events: { counts: () => COUNTS } });
  onTestFinished(() => metrics.close());
  return metrics;
}

/** The lines of a metric, without its help. */
async function linesOf(metrics: ServerMetrics, name: string): Promise<string[]> {
  const { body } = await metrics.text();
  return body.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

const figureOf = async (metrics: ServerMetrics, line: string) => {
  const { body } = await metrics.text();
  const found = body.split('\n').find((one) => one.startsWith(`${line} `));
  return found === undefined ? undefined : Number(found.slice(line.length + 1));
};

test('attempts, failures and times are counted by tool', async () => {
  let failures = 1;
  const flaky = defineTool({
    name: 'flaky',
    retry: { delayMs: 1 },
    run: () => {
      if (failures-- > 0) throw new Error('not yet');
      return 1;
    },
  }) as Tool;
  const rig = await openRig([flaky]);
  const metrics = measure(rig);
  await rig.ask('add', { function: 'flaky', max_retries: 1 });
  await rig.ask('add', { function: 'broken', max_retries: 0 });
  await rig.ask('start', { wait: true });
  await expect.poll(() => figureOf(metrics, 'volley_attempts_total{tool="flaky"}')).toBe(2);
  const { contentType } = await metrics.text();
  expect(contentType).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(await linesOf(metrics, 'volley_failures_total')).toEqual(
    expect.arrayContaining([
      'volley_failures_total{tool="flaky",reason="error",retried="yes"} 1',
      'volley_failures_total{tool="broken",reason="error",retried="no"} 1',
    ]),
  );
  expect(await figureOf(metrics, 'volley_execution_wait_seconds_count{tool="flaky"}')).toBe(1);
  expect(await figureOf(metrics, 'volley_execution_run_seconds_count{tool="flaky"}')).toBe(1);
  expect(await figureOf(metrics, 'volley_execution_run_seconds_count{tool="broken"}')).toBeUndefined();
  expect(await figureOf(metrics, 'volley_executions_ended_total{status="completed"}')).toBe(1);
  expect(await figureOf(metrics, 'volley_executions_ended_total{status="failed"}')).toBe(1);
  expect(await figureOf(metrics, 'volley_store_commit_seconds_count')).toBeGreaterThan(0);
});

test('what waits and what is in use is shown by status, priority and resource', async () => {
  const held = new HeldCalls();
  const rig = await openRig([held.tool()]);
  rig.coordinator.engine.setLimits({ maxConcurrency: 1 });
  const metrics = measure(rig);
  for (const [key, priority] of [
    ['a', 'critical'],
    ['b', 'high'],
    ['c', 'high'],
    ['d', 'low'],
  ])
    await rig.ask('add', { id: key, function: 'held', params: { key }, priority });
  await rig.ask('add', { id: 'e', function: 'echo', depends_on: ['d'], priority: 'background' });
  await rig.ask('start', { max_concurrent: 10 });
  await held.started('a');
  expect(await linesOf(metrics, 'volley_executions')).toEqual([
    'volley_executions{status="pending"} 1',
    'volley_executions{status="queued"} 3',
    'volley_executions{status="running"} 1',
    'volley_executions{status="retrying"} 0',
  ]);
  expect(await linesOf(metrics, 'volley_queued_executions')).toEqual([
    'volley_queued_executions{priority="critical"} 0',
    'volley_queued_executions{priority="high"} 2',
    'volley_queued_executions{priority="normal"} 0',
    'volley_queued_executions{priority="low"} 1',
    'volley_queued_executions{priority="background"} 0',
  ]);
  expect(await figureOf(metrics, 'volley_resource_used{resource="concurrency"}')).toBe(1);
  expect(await figureOf(metrics, 'volley_resource_limit{resource="concurrency"}')).toBe(1);
  expect(await figureOf(metrics, 'volley_resource_limit{resource="memory_mb"}')).toBeGreaterThan(0);
});

test('live events, requests and the process are shown', async () => {
  const metrics = measure(await openRig());
  metrics.request('/v1/batches/{batch}', 'GET', 200, 12);
  metrics.request('/v1/batches/{batch}', 'GET', 200, 12);
  metrics.request('/v1/batches', 'X"\nvolley_fake 1', 405, 1);
  expect(
    await figureOf(
      metrics,
      'volley_http_request_seconds_count{route="/v1/batches/{batch}",method="GET",status="200"}',
    ),
  ).toBe(2);
  expect(
    await figureOf(
      metrics,
      'volley_http_request_seconds_count{route="/v1/batches",method="other",status="405"}',
    ),
  ).toBe(1);
  const shown = {
    volley_events_total: 7,
    volley_event_subscribers: 3,
    volley_event_streams_opened_total: 4,
    volley_event_streams_resumed_total: 1,
    volley_event_streams_stalled_total: 0,
    volley_event_gaps_total: 2,
    volley_event_lag: 5,
  };
  for (const [name, value] of Object.entries(shown)) expect(await figureOf(metrics, name), name).toBe(value);
  for (const name of [
    'process_resident_memory_bytes',
    'nodejs_heap_size_used_bytes',
    'process_cpu_seconds_total',
  ])
    expect(await figureOf(metrics, name), name).toBeGreaterThan(0);
  expect(await linesOf(metrics, 'volley_event_loop_delay_seconds')).toHaveLength(3);
});

test('a label never has more values than a fixed number', async () => {
  const rig = await openRig();
  const metrics = measure(rig);
  const handles = Array.from({ length: 500 }, (_, index) =>
    rig.coordinator.engine.submit({ toolName: `tool-${index}` }, () => index),
  );
  await Promise.all(handles.map((handle) => handle.wait()));
  await expect.poll(() => figureOf(metrics, 'volley_attempts_total{tool="other"}')).toBe(300);
  expect(await linesOf(metrics, 'volley_attempts_total')).toHaveLength(201);
});

test('a call that names no tool fills no label', async () => {
  const rig = await openRig();
  const metrics = measure(rig);
  await rig.coordinator.executeParallel([
    { id: 'a', name: 'nothing_of_that_name', arguments: {} },
    { id: 'b', name: 'echo', arguments: {} },
  ]);
  expect(await figureOf(metrics, 'volley_attempts_total{tool="echo"}')).toBe(1);
  expect((await metrics.text()).body).not.toContain('nothing_of_that_name');
});

test('statistics are of their form, with a sample of the use of each resource', async () => {
  const rig = await openRig();
  const metrics = measure(rig);
  await rig.ask('add', { function: 'echo' });
  await rig.ask('start', { wait: true });
  const body = STATISTICS.omit({ mcp_servers: true }).parse(metrics.statistics());
  expect(body.counts['completed']).toBe(1);
  expect(body.use.map(({ name }) => name)).toEqual([
    'concurrency',
    ...RESOURCE_TABLE.map(({ wireNeed }) => wireNeed),
  ]);
  expect(body.history[0]!.used).toHaveLength(body.use.length);
  expect(body.subscribers).toBe(3);
  await expect.poll(() => metrics.statistics().history.length).toBeGreaterThan(1);
});

test('named resources have a chart, a label and a limit like the others', async () => {
  const rig = await openRig([], (config) => ({
    ...config,
    limits: { ...config.limits, resources: { gpu: 2 } },
  }));
  const metrics = measure(rig);
  expect(await figureOf(metrics, 'volley_resource_limit{resource="gpu"}')).toBe(2);
  expect(await figureOf(metrics, 'volley_resource_used{resource="gpu"}')).toBe(0);
  expect(metrics.statistics().use.at(-1)).toEqual({ name: 'gpu', used: 0, limit: 2 });
});

test('what calls in processes used has a label for each figure', async () => {
  const rig = await openRig();
  const metrics = measure(rig);
  const { engine } = rig.coordinator;
  await engine.submit({ toolName: 'resize' }, ({ used }) => used({ memoryMb: 300, cpu: 0.5 })).wait();
  const labels = 'tool="resize",figure="max"';
  expect(await figureOf(metrics, `volley_tool_memory_mb{${labels}}`)).toBe(300);
  expect(await figureOf(metrics, `volley_tool_cpu{${labels}}`)).toBe(0.5);
  expect(await figureOf(metrics, 'volley_tool_memory_mb{tool="resize",figure="claimed"}')).toBe(100);
  expect(STATISTICS.omit({ mcp_servers: true }).parse(metrics.statistics()).usage).toMatchObject([
    { function: 'resize', samples: 1, memory_mb: { max: 300 }, claimed: { memory_mb: 100, learned: false } },
  ]);
});

test('two of them do not disturb each other, and nothing of them goes on after their end', async () => {
  const rig = await openRig();
  const first = measure(rig);
  const second = measure(rig);
  first.close();
  await rig.ask('add', { function: 'echo' });
  await rig.ask('start', { wait: true });
  await expect.poll(() => figureOf(second, 'volley_attempts_total{tool="echo"}')).toBe(1);
  expect(await figureOf(first, 'volley_attempts_total{tool="echo"}')).toBeUndefined();
  expect(await figureOf(first, 'volley_store_commit_seconds_count')).toBe(0);
});
