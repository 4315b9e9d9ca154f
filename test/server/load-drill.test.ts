import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { HubOptions } from '../../src/server/events/event-hub.ts';
import { LiveEvents } from '../../src/server/events/live-events.ts';
import { StoreWatch } from '../../src/store/store-watch.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { openRig, type Rig } from '../batch/support/rig.ts';
import type { StreamReport } from './events/fixtures/swarm.ts';

/** `npm run drill:load` has 1,000; what is in the tests is a short form of it. */
const SUBSCRIBERS = Number(process.env['VOLLEY_DRILL_SUBSCRIBERS'] ?? 20);
const isLong = SUBSCRIBERS >= 1000;
const STOPPED = Math.ceil(SUBSCRIBERS / 20);
const EXECUTIONS = isLong ? 2000 : 300;
/** Less than what comes, so that those who stopped have a gap. */
const LOG_SIZE = 256;
const LIMIT_MS = isLong ? 300_000 : 180_000;

interface Served {
  readonly live: LiveEvents;
  readonly port: number;
}

async function serve(
  { coordinator: { engine }, executor, store }: Rig,
  options: HubOptions = {},
): Promise<Served> {
  const live = new LiveEvents({ engine, executor, store, watch: new StoreWatch(store) }, options);
  const server = createServer((_, response) => live.subscribe({}, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await live.close('shutdown');
    await new Promise((resolve) => server.close(resolve));
  });
  return { live, port: (server.address() as AddressInfo).port };
}

/** Clients in a process of their own, all connected; the first `stopped` of them read nothing more. */
async function swarm({ port }: Served, count: number, stopped: number): Promise<ChildProcess> {
  const file = new URL('./events/fixtures/swarm.ts', import.meta.url).pathname;
  const child = fork(file, [String(port), '/', String(count), String(stopped)], {
    execArgv: ['--import', 'tsx'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

async function reportOf(child: ChildProcess): Promise<StreamReport[]> {
  child.send('report');
  const [reports] = (await once(child, 'message')) as [StreamReport[]];
  return reports;
}

/** As long as one may be, so that what comes is soon more than the system keeps for a client that does not read. */
const LONG_STEP = '…'.repeat(200);

/** Takes so long, and reports on its way. */
const brief = (ms: number) =>
  defineTool({
    name: 'brief',
    idempotent: true,
    run: async (_, { report }) => {
      report(0.5, LONG_STEP);
      await new Promise((resolve) => setTimeout(resolve, ms));
      return 'done';
    },
  }) as Tool;

async function runAll(rig: Rig, batch: string, count: number, maxConcurrent: number): Promise<number> {
  await rig.ask('add_batch', { batch, tasks: Array.from({ length: count }, () => ({ function: 'brief' })) });
  const start = performance.now();
  await rig.ask('start', { batch, max_concurrent: maxConcurrent, wait: true });
  return performance.now() - start;
}

test(`of ${EXECUTIONS} executions and more no event is missed unannounced by ${SUBSCRIBERS} subscribers, ${STOPPED} of whom stop reading`, {
  timeout: LIMIT_MS,
}, async () => {
  const rig = await openRig([brief(5)]);
  const served = await serve(rig, { logSize: LOG_SIZE, maxBufferedBytes: 32 * 1024, progressMs: 1 });
  const child = await swarm(served, SUBSCRIBERS, STOPPED);
  expect(served.live.subscribers).toBe(SUBSCRIBERS);
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  // The buffers of the system take megabytes for a client that does not read: more than those, and than the log.
  for (let round = 0; round === 0 || served.live.counts().lag <= 2 * LOG_SIZE; round++)
    await runAll(rig, `b${round}`, EXECUTIONS, 50);
  clearInterval(timer);
  child.send('resume');
  const { events } = served.live.counts();
  let reports = await reportOf(child);
  while (reports.some(({ lastNumber }) => lastNumber < events)) reports = await reportOf(child);
  child.send('end');
  const gaps = reports.reduce((sum, report) => sum + report.gaps, 0);
  const megabytes = Math.round((most - before) / 2 ** 20);
  console.log(`${events} events to ${SUBSCRIBERS} subscribers, ${gaps} gaps, ${megabytes} MB more at most`);
  expect(reports.filter(({ unannounced }) => unannounced > 0)).toEqual([]);
  expect(gaps).toBeGreaterThanOrEqual(isLong ? STOPPED : 1);
  expect(served.live.counts().gaps).toBe(gaps);
  // What is held for clients is shared by all of them, and bounded for each.
  expect(megabytes).toBeLessThan(250);
});

// A timing: only where it is all that runs.
if (isLong) {
  test('100 subscribers at 200 executions a second slow the engine by less than a fifth', {
    timeout: LIMIT_MS,
  }, async () => {
    const rig = await openRig([brief(20)]);
    const served = await serve(rig);
    await runAll(rig, 'warm', 200, 5);
    const alone = await runAll(rig, 'alone', 1000, 5);
    const child = await swarm(served, 100, 0);
    const watched = await runAll(rig, 'watched', 1000, 5);
    const reports = await reportOf(child);
    child.send('end');
    const rate = (ms: number) => Math.round(1000 / (ms / 1000));
    console.log(`${rate(alone)} executions a second alone, ${rate(watched)} with 100 subscribers`);
    expect(reports).toHaveLength(100);
    expect(watched).toBeLessThan(alone * 1.25);
  });
}
