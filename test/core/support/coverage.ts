import { normal } from '../../../src/core/durations.ts';
import { predictRemaining } from '../../../src/core/predict.ts';
import { type Random, seededRandom } from '../../../src/core/random.ts';
import type { SchedulerLimits } from '../../../src/core/scheduler-options.ts';
import { isDeep } from '../../support/depth.ts';
import { VirtualScheduler, type Work } from './virtual-scheduler.ts';

/** A kind of batch: what was run before, so that durations are known, and what is predicted. */
export interface Shape {
  readonly limits: SchedulerLimits;
  training(random: Random): Work[];
  work(random: Random): Work[];
}

/** The share of runs that a range for four of five must cover. The few runs of the quick mode say less. */
export const EXPECTED_COVERAGE = isDeep ? { least: 0.7, most: 0.9 } : { least: 0.65, most: 0.95 };

/**
 * In what share of seeded runs the predicted range held the time that was really left, when the given shares of the
 * executions had settled.
 */
export function coverage(
  { limits, training, work }: Shape,
  runs: number,
  progress: readonly number[],
): number[] {
  const covered = progress.map(() => 0);
  for (let run = 1; run <= runs; run++) {
    const random = seededRandom(run * 104_729);
    const virtual = new VirtualScheduler({ limits, retainSettled: 0 });
    virtual.submitAll(training(random));
    virtual.run();
    const before = virtual.settledCount;
    const works = work(random);
    const group = virtual.submitAll(works);
    const answers = progress.map((share) => {
      virtual.run(before + Math.floor(share * works.length));
      return { at: virtual.now, left: predictRemaining(virtual.scheduler, group, virtual.now, random)! };
    });
    const end = virtual.run();
    answers.forEach(({ at, left }, index) => {
      if (end - at >= left.lowMs && end - at <= left.highMs) covered[index]!++;
    });
  }
  return covered.map((count) => count / runs);
}

/** A duration in whole milliseconds around a median; a larger sigma makes a longer tail. */
export function lognormalMs(random: Random, medianMs: number, sigma: number): number {
  return Math.max(1, Math.round(medianMs * Math.exp(sigma * normal(random))));
}

/** Executions of one tool whose durations have a long tail. */
export function alike(random: Random, count: number, sigma = 1): Work[] {
  return Array.from({ length: count }, () => ({
    toolName: 'alike',
    durationMs: lognormalMs(random, 500, sigma),
  }));
}

const TOOLS = [
  { toolName: 'list', medianMs: 100, sigma: 0.5 },
  { toolName: 'fetch', medianMs: 400, sigma: 1 },
  { toolName: 'build', medianMs: 1500, sigma: 0.3 },
  { toolName: 'search', medianMs: 50, sigma: 1.2 },
];

/** Executions of four very different tools. */
export function mixed(random: Random, count: number): Work[] {
  return Array.from({ length: count }, () => {
    const { toolName, medianMs, sigma } = TOOLS[Math.floor(random() * TOOLS.length)]!;
    return { toolName, durationMs: lognormalMs(random, medianMs, sigma) };
  });
}

/** The same with up to three dependencies each, none further back than `reach`. */
export function linked(random: Random, works: readonly Work[], reach = 20): Work[] {
  return works.map((work, index) => {
    const dependsOn = new Set<string>();
    const count = index === 0 ? 0 : Math.floor(random() * 4);
    for (let nth = 0; nth < count; nth++)
      dependsOn.add(`n${Math.max(0, index - 1 - Math.floor(random() * reach))}`);
    return { ...work, id: `n${index}`, dependsOn: [...dependsOn] };
  });
}

const CPU: Readonly<Record<string, number>> = { list: 0.5, fetch: 1, build: 2, search: 3 };

/** The same, where each tool needs a different part of the machine. */
export function needingCpu(works: readonly Work[]): Work[] {
  return works.map((work) => ({ ...work, resources: { cpu: CPU[work.toolName]! } }));
}
