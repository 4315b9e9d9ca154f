import type { SimulatedExecution } from '../../dist/index.js';
import type { Instance } from './instances.ts';

const IO = { 0: 'none', 1: 'low', 2: 'medium', 4: 'high' } as const;

/** The tasks of an instance as executions with these durations, which are estimated as the instance has them. */
export function toExecutions(
  { tasks }: Instance,
  unitMs: number,
  durations: readonly number[] = tasks.map(({ duration }) => duration),
): SimulatedExecution[] {
  return tasks.map(({ duration, needs, dependsOn }, index) => ({
    id: `task-${index}`,
    toolName: `tool-${index}`,
    durationMs: durations[index]! * unitMs,
    estimatedMs: duration * unitMs,
    timeoutMs: Number.POSITIVE_INFINITY,
    resources: {
      cpu: needs[0]!,
      memoryMb: needs[1]!,
      io: IO[needs[2] as keyof typeof IO],
      network: needs[3] === 1,
    },
    dependsOn: dependsOn.map((other) => `task-${other}`),
  }));
}

export function toLimits({ slots, capacities }: Instance) {
  const [cpu, memoryMb, ioOperations, networkOperations] = capacities as [number, number, number, number];
  return { concurrency: slots, cpu, memoryMb, ioOperations, networkOperations };
}
