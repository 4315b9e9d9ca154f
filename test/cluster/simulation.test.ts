import { describe, expect, test } from 'vitest';
import { CoordinatorProtocol } from '../../src/cluster/protocol/coordinator-protocol.ts';
import type { WorkerNote } from '../../src/cluster/protocol/messages.ts';
import { WorkerProtocol } from '../../src/cluster/protocol/worker-protocol.ts';
import { amount } from '../support/depth.ts';
import { ClusterSimulation, MACHINES, type Machines, type Outcome } from './support/simulation.ts';

/** `npm run drill:cluster-sim` sets the first. To replay a failure, set both to `1` and to the seed that it names. */
const SEEDS = Number(process.env['VOLLEY_DRILL_SEEDS'] ?? amount({ quick: 400, deep: 10_000 }));
const FIRST_SEED = Number(process.env['VOLLEY_TEST_SEED'] ?? 1);

test('a simulated cluster loses nothing, records nothing twice and ends after all faults have ended', () => {
  let faults = 0;
  let repeated = 0;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    const report = new ClusterSimulation(seed).run();
    faults += report.faults;
    repeated += report.repeated;
  }
  // The faults are real: work had to run again.
  if (SEEDS >= 1000) expect([faults / SEEDS > 10, repeated / SEEDS > 1]).toEqual([true, true]);
}, 3_600_000);

test('a seed always gives the same run', () => {
  expect(new ClusterSimulation(7).run()).toEqual(new ClusterSimulation(7).run());
});

describe('the simulation finds', () => {
  const MAX_TRIED = 5000;

  function firstFailure(machines: Machines): string | undefined {
    for (let seed = 1; seed <= MAX_TRIED; seed++) {
      try {
        new ClusterSimulation(seed, machines).run();
      } catch (error) {
        return (error as Error).message;
      }
    }
    return undefined;
  }

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
    'a coordinator that gives up attempts before their queue is removed': {
      coordinator: class extends CoordinatorProtocol<Outcome> {
        protected override giveUp(
          ...[id, session]: Parameters<CoordinatorProtocol<Outcome>['giveUp']>
        ): void {
          super.giveUp(id, session);
          for (const key of [...session.keys]) this.end(key, undefined);
        }
      },
    },
    'a coordinator that takes an attempt for lost because it does not see it': {
      coordinator: class extends CoordinatorProtocol<Outcome> {
        protected override judgeMissing(
          ...[key, isPresent, note, session]: Parameters<CoordinatorProtocol<Outcome>['judgeMissing']>
        ): void {
          const isRepeated = this.assignments.get(key)!.missingSince !== undefined;
          if (!isPresent && isRepeated) this.end(key, undefined);
          else super.judgeMissing(key, isPresent, note, session);
        }
      },
    },
    'a store that lets a coordinator write that has lost its lease': { storeFences: false },
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
    'a worker that leaves while an attempt may be on its way': {
      worker: class extends WorkerProtocol<Outcome> {
        override nextNote(waiting: readonly string[], now: number): WorkerNote {
          this.leaveIfDrained();
          return super.nextNote(waiting, now);
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
    expect(firstFailure({ ...MACHINES, ...broken[name] })).toMatch(/^Seed \d+, at/);
  });
});
