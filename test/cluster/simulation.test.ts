import { describe, expect, test } from 'vitest';
import { CoordinatorProtocol } from '../../src/cluster/protocol/coordinator-protocol.ts';
import { WorkerProtocol } from '../../src/cluster/protocol/worker-protocol.ts';
import { amount } from '../support/depth.ts';
import { ClusterSimulation, MACHINES, type Machines, type Outcome } from './support/simulation.ts';

const SEEDS = Number(process.env['VOLLEY_DRILL_SEEDS'] ?? amount({ quick: 300, deep: 3000 }));
const FIRST_SEED = Number(process.env['VOLLEY_TEST_SEED'] ?? 1);

function firstFailure(machines: Machines, seeds: number): string | undefined {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + seeds; seed++) {
    try {
      new ClusterSimulation(seed, machines).run();
    } catch (error) {
      return (error as Error).message;
    }
  }
  return undefined;
}

test('a simulated cluster loses nothing, records nothing twice and ends after all faults have ended', () => {
  let faults = 0;
  let repeated = 0;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    const report = new ClusterSimulation(seed).run();
    faults += report.faults;
    repeated += Math.max(0, report.runs - 30);
  }
  // The faults are real: work had to run again.
  expect(faults).toBeGreaterThan(SEEDS * 10);
  expect(repeated).toBeGreaterThan(0);
}, 3_600_000);

test('a seed always gives the same run', () => {
  expect(new ClusterSimulation(7).run()).toEqual(new ClusterSimulation(7).run());
});

describe('the simulation finds', () => {
  const broken: Record<string, Partial<Machines>> = {
    'work that starts before that of the last coordinator has stopped': {
      coordinator: class extends CoordinatorProtocol<Outcome> {
        protected override earlierWorkIsOver(): boolean {
          return true;
        }
        protected override isClean(): boolean {
          return true;
        }
      },
    },
    'silence that ends the lease too early': {
      coordinator: class extends CoordinatorProtocol<Outcome> {
        constructor(...[epoch, times, now]: ConstructorParameters<typeof CoordinatorProtocol<Outcome>>) {
          super(epoch, { ...times, leaseMs: times.beatMs }, now);
        }
      },
    },
    'a coordinator that never inspects': {
      coordinator: class extends CoordinatorProtocol<Outcome> {
        override inspected(): void {}
      },
    },
    'a worker that takes work of an old epoch': {
      worker: class extends WorkerProtocol<Outcome> {
        protected override isStale(): boolean {
          return false;
        }
      },
    },
    'a worker that forgets what it has done': {
      worker: class extends WorkerProtocol<Outcome> {
        override finished(key: string): boolean {
          return this.held.get(key) === this.session;
        }
      },
    },
    'a worker that lets go of an attempt before its outcome is stored': {
      worker: class extends WorkerProtocol<Outcome> {
        override finished(key: string, outcome: Outcome): boolean {
          const isReported = super.finished(key, outcome);
          this.held.delete(key);
          return isReported;
        }
      },
    },
    'a worker that works on without its lease': {
      worker: class extends WorkerProtocol<Outcome> {
        override tick(): void {}
      },
    },
    'a worker that ignores requests to stop': {
      worker: class extends WorkerProtocol<Outcome> {
        override cancel(): void {}
      },
    },
  };
  test.each(Object.keys(broken))('%s', (name) => {
    expect(firstFailure({ ...MACHINES, ...broken[name] }, 500)).toMatch(/^Seed \d+, at/);
  });
});
