import { describe, expect, it } from 'vitest';
import { Election } from '../../../src/batch/servers/election.ts';
import { type Random, seededRandom } from '../../../src/core/random.ts';
import type { LeadershipState } from '../../../src/store/shared-servers.ts';

const TIMES = { beatMs: 500, leaseMs: 5000 };
const SEEDS = 100;

/** The row that all servers read and change. */
class Row {
  epoch = 0;
  beat = 0;
  server: string | undefined;

  read(id: string, epoch: number, othersAreReady: boolean): LeadershipState {
    if (this.server === id && this.epoch === epoch) this.beat++;
    return {
      epoch: this.epoch,
      beat: this.beat,
      isOwn: this.server === id && this.epoch === epoch,
      isVacant: this.server === undefined,
      othersAreReady,
    };
  }

  claim(id: string, { epoch, beat }: LeadershipState): number | undefined {
    if (this.epoch !== epoch || this.beat !== beat) return undefined;
    this.server = id;
    this.beat++;
    return ++this.epoch;
  }
}

class Server {
  readonly election = new Election(TIMES);
  /** Until then it cannot reach the store. */
  cutUntil = 0;
  /** Until then it does nothing. */
  stoppedUntil = 0;
  isReady = true;
  nextBeat = 0;

  constructor(readonly id: string) {}
}

/** Moves servers through time in small steps. Their monotonic clocks differ by a constant. */
class World {
  readonly row = new Row();
  readonly servers = ['a', 'b', 'c'].map((id) => new Server(id));
  now = 0;

  constructor(readonly random: Random) {}

  step(): void {
    this.now += 50;
    for (const [index, server] of this.servers.entries()) this.move(server, this.now + index * 1e6);
    if (this.servers.filter((server) => this.leads(server)).length > 1)
      throw new Error(`Two servers lead at ${this.now} ms.`);
  }

  /** A server that is stopped does nothing, whatever it believes. */
  leads({ election, stoppedUntil }: Server): boolean {
    return election.leads && this.now >= stoppedUntil;
  }

  private move(server: Server, clock: number): void {
    if (this.now < server.stoppedUntil) return;
    const { election, id, isReady } = server;
    election.tick(clock);
    if (this.now < server.nextBeat) return;
    server.nextBeat = this.now + TIMES.beatMs;
    if (this.now < server.cutUntil) return;
    const others = this.servers.some(
      (other) =>
        other !== server && other.isReady && this.now >= Math.max(other.cutUntil, other.stoppedUntil),
    );
    // The answer comes later than the question was asked.
    const sentAt = clock - Math.floor(this.random() * 40);
    const state = this.row.read(id, election.epoch, others);
    const step = election.observed(state, isReady, sentAt, clock);
    if (step === 'resign') this.row.server = undefined;
    if (step !== 'claim') return;
    const epoch = this.row.claim(id, state);
    if (epoch !== undefined) election.claimed(epoch, sentAt, clock);
  }
}

describe('the election of a leader', () => {
  it('never has two at once, and always has one within the lease and two beats after all faults have ended', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = seededRandom(seed);
      const world = new World(random);
      while (world.now < 60_000) {
        const server = world.servers[Math.floor(random() * 3)]!;
        const until = world.now + random() * 12_000;
        const fault = random();
        if (fault < 0.01) server.cutUntil = until;
        else if (fault < 0.02) server.stoppedUntil = until;
        else if (fault < 0.03) server.isReady = !server.isReady;
        world.step();
      }
      for (const server of world.servers)
        Object.assign(server, { cutUntil: 0, stoppedUntil: 0, isReady: true });
      const end = world.now + TIMES.leaseMs + 3 * TIMES.beatMs;
      while (world.now < end) world.step();
      expect(world.servers.filter((other) => world.leads(other)).length, `seed ${seed}`).toBe(1);
    }
  });

  it('changes nothing when the store was away for everybody and is back before the lease has ended', () => {
    const world = new World(seededRandom(1));
    while (!world.servers.some((server) => world.leads(server))) world.step();
    const { epoch } = world.row;
    for (const server of world.servers) server.cutUntil = world.now + TIMES.leaseMs - 1000;
    const end = world.now + 20_000;
    while (world.now < end) world.step();
    expect(world.row.epoch).toBe(epoch);
  });

  it('moves away from a server that cannot reach the workers, if another one can', () => {
    const world = new World(seededRandom(1));
    while (!world.servers.some((server) => world.leads(server))) world.step();
    const first = world.servers.find((server) => world.leads(server))!;
    for (const server of world.servers) server.isReady = false;
    for (let steps = 0; steps < 100; steps++) world.step();
    expect(world.leads(first)).toBe(true);
    const able = world.servers.find((server) => server !== first)!;
    able.isReady = true;
    for (let steps = 0; steps < 40; steps++) world.step();
    expect(world.leads(able)).toBe(true);
  });
});
