import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { BatchExecutor } from '../../../src/batch/executor/batch-executor.ts';
import { defaultConfig } from '../../../src/config/config.ts';
import { ParallelToolCoordinator } from '../../../src/coordinator/coordinator.ts';
import { seededRandom } from '../../../src/core/random.ts';
import { openStore } from '../../../src/store/sqlite-store.ts';
import { builtinTools } from '../../../src/tools/builtin/all.ts';
import { type Sample, takeSample } from './sample.ts';
import { SOAK_TOOLS } from './tools.ts';
import { SoakBatch } from './workload.ts';

/** What a soak found; `surprises` must be empty, and the samples alike. */
export interface SoakReport {
  readonly tasks: number;
  readonly early: Sample;
  readonly late: Sample;
  /** The median of what a single task waited, from the request to its end, in the first part and in the last. */
  readonly earlyLatencyMs: number;
  readonly lateLatencyMs: number;
  readonly surprises: readonly string[];
}

const BATCHES = 3;
/** The first part of the time warms everything up. */
const EARLY_SHARE = 0.3;
const PROBE_PAUSE_MS = 50;

export async function soak(seconds: number, seed: number): Promise<SoakReport> {
  const folder = mkdtempSync(join(tmpdir(), 'volley-soak-'));
  const plain = defaultConfig(folder);
  const coordinator = new ParallelToolCoordinator({
    config: {
      ...plain,
      shell: { ...plain.shell, enabled: true },
      // The same on every machine, so that all of them are there at each sample.
      threads: { max: 2 },
      // Less than the work would take, so that there is always something that waits for room.
      limits: {
        ...plain.limits,
        maxConcurrency: 40,
        limits: { ...plain.limits.limits, cpu: 4, memoryMb: 1000 },
      },
    },
  });
  coordinator.register(builtinTools(), ...SOAK_TOOLS);
  const file = join(folder, 'volley.db');
  const store = await openStore(file);
  const executor = new BatchExecutor({ coordinator, store });
  const batches = Array.from(
    { length: BATCHES },
    (_, index) => new SoakBatch(executor, `soak-${index}`, seededRandom(seed + index)),
  );
  // What is started for the first command, and for calls in threads, stays: it must not come between the samples.
  const startAll = () =>
    coordinator.executeParallel([
      { id: 'first', name: 'shell', arguments: { command: 'true' } },
      ...['second', 'third'].map((id) => ({ id, name: 'threaded', arguments: {} })),
    ]);
  await startAll();
  const part = async (share: number) => {
    const deadline = performance.now() + seconds * share * 1000;
    const isOver = () => performance.now() > deadline;
    const latencies = probe(executor, isOver);
    await Promise.all(
      batches.map(async (batch) => {
        do await batch.round();
        while (!isOver() && batch.surprises.length === 0);
      }),
    );
    const latencyMs = median(await latencies);
    // Commands that ran out of their time may be ending.
    await coordinator.engine.drain();
    // A thread that did not stop in time was ended, and others start when they are needed.
    await startAll();
    return { latencyMs, sample: await takeSample(file) };
  };
  const early = await part(EARLY_SHARE);
  const late = await part(1 - EARLY_SHARE);
  const surprises = batches.flatMap((batch) => batch.surprises);
  await executor.close();
  await store.close();
  await coordinator.close();
  rmSync(folder, { recursive: true });
  return {
    tasks: batches.reduce((sum, { tasks }) => sum + tasks, 0),
    early: early.sample,
    late: late.sample,
    earlyLatencyMs: early.latencyMs,
    lateLatencyMs: late.latencyMs,
    surprises,
  };
}

/** Now and then a small urgent batch of its own: how long it takes beside all the others. */
async function probe(executor: BatchExecutor, isOver: () => boolean): Promise<number[]> {
  const times: number[] = [];
  do {
    const start = performance.now();
    await executor.handle({ action: 'add', batch: 'probe', function: 'good', priority: 'critical' });
    await executor.handle({ action: 'start', batch: 'probe', wait: true });
    times.push(performance.now() - start);
    await executor.handle({ action: 'clear', batch: 'probe' });
    await sleep(PROBE_PAUSE_MS);
  } while (!isOver());
  return times;
}

function median(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)]!;
}

// Started as a program: seconds and seed are its arguments, and the report is what it prints.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  console.log(JSON.stringify(await soak(Number(process.argv[2]), Number(process.argv[3]))));
