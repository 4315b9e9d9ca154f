import { CONCURRENCY, SCALE } from '../demand.ts';
import type { DemandClass } from '../demand-class.ts';
import type { Execution } from '../execution.ts';
import type { Group } from '../group.ts';
import type { RateLimit } from '../rate.ts';
import type { ResourceAccounts } from '../resources.ts';
import type { Tool } from '../tool.ts';
import { type Distribution, GuessedDistribution } from './distribution.ts';

/** How wide the guess is for a tool of which nothing is known but what other tools take. */
const UNKNOWN_SIGMA = 1;
/** A lock as a limit: an exclusive holder takes all of it, a shared one takes 1. */
const WHOLE_LOCK = 1_000_000;

/** Executions that need the same to start. */
export interface PlannedClass {
  /** What one of them takes: places in {@link Plan.limits}, and how much of each. */
  readonly takes: readonly number[];
  readonly amounts: readonly number[];
  readonly tool: number;
  /** The tools that must not run meanwhile. */
  readonly conflicts: readonly number[];
  readonly rates: readonly number[];
}

/** Durations of the same origin: all are too short or too long together if what is known of them is wrong. */
export interface Source {
  distribution: Distribution;
  /** For how long each running execution has been running, in units of the distribution. */
  readonly elapsed: number[];
  correction: number;
}

/** One execution of a plan: what it needs and how long it takes. */
export interface PlannedNeeds {
  readonly class: number;
  readonly source: number;
  /** What 1 of the source stands for: 1, or the estimate of the caller where the source holds ratios to it. */
  readonly unitMs: number;
}

/** One execution of a plan: where it stands. */
export interface PlannedState {
  /** For how long it has been running, or -1. */
  readonly elapsedMs: number;
  /** Whether a running one has its room; one that waits for its children has lent it. */
  readonly holdsRoom: boolean;
  /** For how long it must wait before anything else is asked: the pause before a retry. */
  readonly pauseMs: number;
  /** Whether the time left is asked for its sake, or it merely competes. */
  readonly counts: boolean;
  /** Places in the plan of those that wait for it. */
  readonly dependents: readonly number[];
}

export interface Planned extends PlannedNeeds, PlannedState {
  waitingFor: number;
}

const FRESH: PlannedState = { elapsedMs: -1, holdsRoom: false, pauseMs: 0, counts: true, dependents: [] };

/**
 * What is left to do, reduced to what decides how long that takes: limits, needs, dependencies, durations and the
 * order of starting. It refers to nothing that changes, and can be played through many times.
 */
export class Plan {
  readonly limits: number[] = [];
  readonly classes: PlannedClass[] = [];
  readonly sources: Source[] = [];
  readonly rates: { readonly count: number; readonly perMs: number; readonly starts: readonly number[] }[] =
    [];
  /** In the order in which they would start if there was room for one at a time. */
  readonly executions: Planned[] = [];
  private readonly tools = new Map<Tool, number>();
  private readonly places = new Map<unknown, number>();
  private readonly classPlaces = new Map<DemandClass, Map<string, number>>();
  private readonly sourcePlaces = new Map<Tool, { seen?: number; own?: number }>();
  private readonly unknown: Source[] = [];

  constructor(
    private readonly resources: ResourceAccounts,
    private readonly now: number,
  ) {
    // Its place is fixed because it is the limit that is looked at first.
    this.limits[CONCURRENCY] = resources.limits[CONCURRENCY]!;
  }

  get toolCount(): number {
    return this.tools.size;
  }

  /** Whether the duration of anything is known. */
  get knowsAnything(): boolean {
    return this.unknown.length < this.sources.length;
  }

  /** The place of the class of an execution, with its locks if it has any. */
  classOf(demand: DemandClass, claims?: Execution['claims']): number {
    let places = this.classPlaces.get(demand);
    if (places === undefined) {
      places = new Map();
      this.classPlaces.set(demand, places);
    }
    const locks =
      claims === undefined ? '' : JSON.stringify(claims.map(({ lock, exclusive }) => [lock.name, exclusive]));
    let place = places.get(locks);
    if (place === undefined) {
      place = this.classes.push(this.describe(demand, claims ?? [])) - 1;
      places.set(locks, place);
    }
    return place;
  }

  /** The place of the durations of a tool, or of their ratios to the estimates of callers. */
  sourceOf(tool: Tool, kind: 'seen' | 'own'): number {
    const places = this.sourcePlaces.get(tool) ?? {};
    this.sourcePlaces.set(tool, places);
    places[kind] ??= this.sources.push(this.makeSource(tool, kind)) - 1;
    return places[kind];
  }

  /** Adds an execution behind those that were added before. */
  add(needs: PlannedNeeds, state: PlannedState = FRESH): void {
    const { class: classPlace, source, unitMs } = needs;
    const { elapsedMs, holdsRoom, pauseMs, counts, dependents } = state;
    this.executions.push({
      class: classPlace,
      source,
      unitMs,
      elapsedMs,
      holdsRoom,
      pauseMs,
      counts,
      dependents,
      waitingFor: 0,
    });
    if (elapsedMs >= 0) this.sources[source]!.elapsed.push(elapsedMs / unitMs);
  }

  /** Call it when all is in the plan: weighs what is known, and makes a guess where nothing is. */
  weigh(): void {
    for (const source of this.sources) source.correction = source.distribution.correctionFor(source.elapsed);
    if (this.unknown.length > 0 && this.knowsAnything) this.guessTheRest();
  }

  /** What a tool of which nothing is known takes is taken to be what the others take, on average. */
  private guessTheRest(): void {
    const known = this.sources.filter((source) => !this.unknown.includes(source));
    const meanOfLogs =
      known.reduce((sum, { distribution }) => sum + Math.log(Math.max(1, distribution.mean)), 0) /
      known.length;
    for (const source of this.unknown)
      source.distribution = new GuessedDistribution(Math.exp(meanOfLogs), UNKNOWN_SIGMA);
  }

  private describe(demand: DemandClass, claims: NonNullable<Execution['claims']>): PlannedClass {
    const { needs, tool, group, conflicts } = demand;
    const takes: number[] = [];
    const amounts: number[] = [];
    const take = (owner: unknown, limit: number, amount: number) => {
      if (amount === 0 || limit === Number.POSITIVE_INFINITY) return;
      const place = this.placeOf(owner, limit);
      // A limit that was lowered below the demand is taken to be raised again: otherwise there is no end to predict.
      if (amount > this.limits[place]!) this.limits[place] = amount;
      takes.push(place);
      amounts.push(amount);
    };
    takes.push(CONCURRENCY);
    amounts.push(SCALE);
    for (let index = CONCURRENCY + 1; index < needs.length; index++)
      take(index, this.resources.limits[index]!, needs[index]!);
    take(tool, tool.maxConcurrency, 1);
    take(group, group.maxConcurrency, 1);
    for (const { lock, exclusive } of claims) take(lock, WHOLE_LOCK, exclusive ? WHOLE_LOCK : 1);
    return {
      takes,
      amounts,
      tool: this.toolOf(tool),
      conflicts: conflicts.map((other) => this.toolOf(other)),
      rates: [tool, group].flatMap((owner) => this.rateOf(owner)),
    };
  }

  private placeOf(owner: unknown, limit: number): number {
    let place = this.places.get(owner);
    if (place === undefined) {
      place = this.limits.push(limit) - 1;
      this.places.set(owner, place);
    }
    return place;
  }

  private toolOf(tool: Tool): number {
    let place = this.tools.get(tool);
    if (place === undefined) {
      place = this.tools.size;
      this.tools.set(tool, place);
    }
    return place;
  }

  private rateOf(owner: Tool | Group): number[] {
    const { rate } = owner;
    if (rate === undefined) return [];
    let place = this.places.get(rate);
    if (place === undefined) {
      place =
        this.rates.push({ count: rate.count, perMs: rate.perMs, starts: pastStarts(rate, this.now) }) - 1;
      this.places.set(rate, place);
    }
    return [place];
  }

  private makeSource(tool: Tool, kind: 'seen' | 'own'): Source {
    if (kind === 'own') return { distribution: tool.durations.ratioToEstimate(), elapsed: [], correction: 1 };
    const distribution = tool.durations.distribution();
    if (distribution !== undefined) return { distribution, elapsed: [], correction: 1 };
    const source: Source = {
      distribution: new GuessedDistribution(1, UNKNOWN_SIGMA),
      elapsed: [],
      correction: 1,
    };
    this.unknown.push(source);
    return source;
  }
}

/** Starts before now, as moments relative to now: taken as evenly spread where a rate is used up. */
function pastStarts(rate: RateLimit, now: number): number[] {
  const firstIn = rate.allowedAt(now) - now;
  if (firstIn <= 0) return [];
  const stepMs = (rate.perMs - firstIn) / rate.count;
  return Array.from({ length: rate.count }, (_, index) => firstIn - rate.perMs + index * stepMs);
}
