import { boundOf, type PlanModel } from './plan-model.ts';
import { type Random, seededRandom } from './random.ts';
import { type ScheduleGenerator, scheduleGenerator } from './schedule-generation.ts';

/**
 * How many tasks are placed in all schedules of a search: about 50 ms. So small groups are searched more often. With
 * workers there are fewer schedules, because each placement compares workers. Measured with 80 tasks on 4 workers: 7.8 %
 * over the bound with a quarter of the schedules, 7.2 % with all, and 11.3 % with lists.
 */
const MAX_PLACED = 240_000;
/** How many schedules a search keeps and combines. */
const POPULATION = 40;
/** The chance that two neighbors of a new order are swapped. */
const SWAP_CHANCE = 0.05;

/** An order of the waiting tasks, its schedule, and when each tier ends in it. */
interface Candidate {
  readonly order: Int32Array;
  readonly ends: Float64Array;
  readonly workers: Int32Array;
}

interface SearchOptions {
  /** The share of the budget to use. Default 1. */
  readonly effort?: number;
  /** An order to begin with, such as that of an earlier plan: lowest first. */
  readonly known?: Float64Array | undefined;
}

/**
 * Searches for a short schedule. It begins with several priority rules, then combines the orders it has (a small
 * population). Each schedule is improved by moving all tasks as late as possible and then as early as possible. The
 * budget is a number of schedules, not a time, and randomness is seeded: equal models give equal plans.
 *
 * A search can be stopped and continued between any two steps. It ends early if no schedule can be shorter.
 */
export class PlanSearch {
  /** How many schedules were made. */
  evaluations = 0;
  /** How many will be made at most. */
  readonly maxEvaluations: number;
  isDone = false;
  private readonly generator: ScheduleGenerator;
  private readonly random: Random;
  private readonly search: Iterator<void>;
  private readonly bound: Float64Array;
  private readonly listEnds: Float64Array;
  private best: Candidate;
  private readonly keys: Float64Array;
  private readonly indexScale: number;
  private readonly timeScale: number;

  constructor(
    private readonly model: PlanModel,
    private readonly options: SearchOptions = {},
  ) {
    const { size, waiting, tierCount } = model;
    this.generator = scheduleGenerator(model);
    this.random = seededRandom(1);
    const maxPlaced =
      model.places === undefined ? MAX_PLACED : MAX_PLACED / Math.min(16, 4 + model.places.workers);
    this.maxEvaluations = Math.ceil(((options.effort ?? 1) * maxPlaced) / Math.max(1, size));
    this.keys = new Float64Array(waiting.length);
    this.indexScale = 2 ** Math.ceil(Math.log2(size + 1));
    const totalMs = model.durations.reduce((sum, ms) => sum + ms, 1) + Math.max(0, ...model.ready);
    this.timeScale = Math.min(1, 2 ** 31 / totalMs);
    this.bound = Float64Array.from({ length: tierCount }, (_, tier) => boundOf(model, tier).ms);
    const byRank = waiting.slice().sort((a, b) => model.ranks[a]! - model.ranks[b]! || a - b);
    this.generator.list(byRank);
    this.evaluations++;
    this.listEnds = this.tierEnds();
    this.best = { order: this.byStart(), ends: this.listEnds, workers: this.generator.workers.slice() };
    this.search = this.run();
    this.isDone = this.isAtBound(this.best);
  }

  /** Whether the best plan is shorter than what list scheduling would do. */
  get isBetter(): boolean {
    return compare(this.best.ends, this.listEnds) < 0;
  }

  /** When all tasks have ended, with the plan and with list scheduling, in milliseconds from now. */
  get endMs(): number {
    return this.best.ends.at(-1)!;
  }

  get listEndMs(): number {
    return this.listEnds.at(-1)!;
  }

  /** By how much a plan could end earlier than list scheduling, at most. */
  get maxGainMs(): number {
    return Math.max(...this.listEnds.map((end, tier) => end - this.bound[tier]!));
  }

  /** The waiting tasks in the order of the best plan. */
  get order(): Int32Array {
    return this.best.order;
  }

  /** The worker of each task in the best plan. */
  get workers(): Int32Array {
    return this.best.workers;
  }

  /** Makes about so many schedules more. Returns whether the search has ended. */
  step(evaluations: number): boolean {
    const until = Math.min(this.maxEvaluations, this.evaluations + evaluations);
    while (!this.isDone && this.evaluations < until) {
      this.isDone = this.search.next().done === true || this.isAtBound(this.best);
    }
    this.isDone ||= this.evaluations >= this.maxEvaluations;
    return this.isDone;
  }

  private *run(): Generator<void, void, undefined> {
    const population: Candidate[] = [];
    for (const order of this.firstOrders()) {
      population.push(this.improved(order));
      yield;
    }
    for (;;) {
      const mother = this.tournament(population);
      const father = this.tournament(population);
      if (mother === father) continue;
      const child = this.improved(this.mutated(this.crossed(mother.order, father.order)));
      yield;
      this.replace(population, child);
    }
  }

  /** Orders by priority rules, served by both schemes, then random ones that prefer long paths. */
  private *firstOrders(): Generator<Int32Array> {
    const { model } = this;
    const { waiting, paths, durations, after } = model;
    const tails = (task: number) => paths[task]! - durations[task]!;
    const direct = (task: number) => {
      let sum = durations[task]!;
      for (let at = after.starts[task]!; at < after.starts[task + 1]!; at++)
        sum += durations[after.values[at]!]!;
      return sum;
    };
    const weight = (task: number) => {
      let share = 0;
      for (let use = model.useStarts[task]!; use < model.useStarts[task + 1]!; use++)
        share = Math.max(share, model.useTakes[use]! / model.capacities[model.useRows[use]!]!);
      return paths[task]! * (1 + share);
    };
    let made = 0;
    const { known } = this.options;
    if (known !== undefined) {
      yield this.linear((task) => known[task]!);
      made++;
    }
    for (const value of [(task: number) => paths[task]!, tails, direct, weight]) {
      const priorities = new Float64Array(model.size);
      for (const task of waiting) priorities[task] = -value(task);
      const order = this.linear((task) => priorities[task]!);
      yield order;
      this.generator.list(order);
      this.evaluations++;
      yield this.byStart();
      made += 2;
    }
    for (; made < POPULATION; made++) yield this.sampled(tails);
  }

  /** An order in which each task follows those it depends on, and the lowest value of all that could be next. */
  private linear(priorityOf: (task: number) => number): Int32Array {
    return this.chosen((eligible) => {
      let best = 0;
      for (let at = 1; at < eligible.length; at++)
        if (priorityOf(eligible[at]!) < priorityOf(eligible[best]!)) best = at;
      return best;
    });
  }

  /** A random order. A task with a longer path behind it is more likely to be next. */
  private sampled(tailOf: (task: number) => number): Int32Array {
    const weights: number[] = [];
    return this.chosen((eligible) => {
      let least = Number.POSITIVE_INFINITY;
      for (const task of eligible) least = Math.min(least, tailOf(task));
      let total = 0;
      for (let at = 0; at < eligible.length; at++) {
        weights[at] = tailOf(eligible[at]!) - least + 1;
        total += weights[at]!;
      }
      let drawn = this.random() * total;
      for (let at = 0; at < eligible.length; at++) {
        drawn -= weights[at]!;
        if (drawn < 0) return at;
      }
      return eligible.length - 1;
    });
  }

  private chosen(choose: (eligible: readonly number[]) => number): Int32Array {
    const { size, waiting, before, after, tiers, remaining } = this.model;
    const open = new Int32Array(size);
    const byTier: number[][] = [];
    const add = (task: number) => {
      byTier[tiers[task]!] ??= [];
      byTier[tiers[task]!]!.push(task);
    };
    for (const task of waiting) {
      for (let at = before.starts[task]!; at < before.starts[task + 1]!; at++)
        if (remaining[before.values[at]!]! < 0) open[task]!++;
      if (open[task] === 0) add(task);
    }
    const order = new Int32Array(waiting.length);
    for (let place = 0; place < order.length; place++) {
      // Whatever a task depends on is of its tier or a lower one.
      const eligible = byTier.find((tasks) => tasks !== undefined && tasks.length > 0)!;
      const chosen = choose(eligible);
      const task = eligible[chosen]!;
      eligible[chosen] = eligible[eligible.length - 1]!;
      eligible.pop();
      order[place] = task;
      for (let at = after.starts[task]!; at < after.starts[task + 1]!; at++)
        if (--open[after.values[at]!]! === 0) add(after.values[at]!);
    }
    return order;
  }

  /** The schedule of an order, moved back and forth while that shortens it. */
  private improved(order: Int32Array): Candidate {
    this.generator.forward(order);
    this.evaluations++;
    let found = this.candidate(order, this.tierEnds());
    for (;;) {
      const end = found.ends.at(-1)!;
      this.generator.backward(this.byEnd(), end);
      const again = this.byStart();
      this.generator.forward(again);
      this.evaluations += 2;
      const ends = this.tierEnds();
      const change = compare(ends, found.ends);
      if (change <= 0) found = this.candidate(again, ends);
      if (change >= 0) break;
    }
    if (compare(found.ends, this.best.ends) < 0) this.best = found;
    return found;
  }

  /**
   * The last schedule, which was generated by an order. On one machine, the order of its starts generates it too. On
   * workers, that may place tasks on others.
   */
  private candidate(order: Int32Array, ends: Float64Array): Candidate {
    if (this.model.places === undefined)
      return { order: this.byStart(), ends, workers: this.generator.workers };
    return { order, ends, workers: this.generator.workers.slice() };
  }

  private tournament(population: readonly Candidate[]): Candidate {
    const one = population[Math.floor(this.random() * population.length)]!;
    const other = population[Math.floor(this.random() * population.length)]!;
    return compare(other.ends, one.ends) < 0 ? other : one;
  }

  /** The middle part in the order of the father, the rest in the order of the mother. */
  private crossed(mother: Int32Array, father: Int32Array): Int32Array {
    const { length } = mother;
    const one = Math.floor(this.random() * (length + 1));
    const two = Math.floor(this.random() * (length + 1));
    const from = Math.min(one, two);
    const to = Math.max(one, two);
    const isTaken = new Uint8Array(this.model.size);
    const child = new Int32Array(length);
    let place = 0;
    const take = (task: number) => {
      isTaken[task] = 1;
      child[place++] = task;
    };
    for (let at = 0; at < from; at++) take(mother[at]!);
    for (let at = 0; at < length && place < to; at++) if (isTaken[father[at]!] === 0) take(father[at]!);
    for (let at = 0; at < length; at++) if (isTaken[mother[at]!] === 0) take(mother[at]!);
    return child;
  }

  private mutated(order: Int32Array): Int32Array {
    const { before, tiers } = this.model;
    for (let at = 0; at + 1 < order.length; at++) {
      if (this.random() >= SWAP_CHANCE) continue;
      const one = order[at]!;
      const other = order[at + 1]!;
      if (tiers[one] !== tiers[other]) continue;
      let depends = false;
      for (let edge = before.starts[other]!; edge < before.starts[other + 1]!; edge++)
        if (before.values[edge] === one) depends = true;
      if (depends) continue;
      order[at] = other;
      order[at + 1] = one;
    }
    return order;
  }

  /** The child replaces the worst, unless it is worse or is there already. */
  private replace(population: Candidate[], child: Candidate): void {
    let worst = 0;
    for (let at = 0; at < population.length; at++) {
      if (isSame(population[at]!.order, child.order)) return;
      if (compare(population[at]!.ends, population[worst]!.ends) >= 0) worst = at;
    }
    if (compare(child.ends, population[worst]!.ends) <= 0) population[worst] = child;
  }

  /** The waiting tasks by tier, then by start in the last schedule. */
  private byStart(): Int32Array {
    const { starts } = this.generator;
    const { tiers } = this.model;
    return this.sorted((task) => Math.floor(starts[task]! * this.timeScale) + tiers[task]! * 2 ** 32);
  }

  /** The waiting tasks by end in the last schedule, the latest first. */
  private byEnd(): Int32Array {
    const { ends } = this.generator;
    return this.sorted((task) => -Math.floor(ends[task]! * this.timeScale));
  }

  /** Keys and indexes share a number, so that a plain sort of numbers does it. */
  private sorted(keyOf: (task: number) => number): Int32Array {
    const { keys, indexScale } = this;
    const { waiting } = this.model;
    for (let at = 0; at < waiting.length; at++) keys[at] = keyOf(waiting[at]!) * indexScale + waiting[at]!;
    keys.sort();
    const order = new Int32Array(waiting.length);
    for (let at = 0; at < order.length; at++) {
      const rest = keys[at]! % indexScale;
      order[at] = rest < 0 ? rest + indexScale : rest;
    }
    return order;
  }

  /** When the tasks up to each tier have ended in the last schedule. */
  private tierEnds(): Float64Array {
    const { size, tiers, tierCount } = this.model;
    const { ends } = this.generator;
    const found = new Float64Array(tierCount);
    for (let task = 0; task < size; task++)
      if (ends[task]! > found[tiers[task]!]!) found[tiers[task]!] = ends[task]!;
    for (let tier = 1; tier < tierCount; tier++) found[tier] = Math.max(found[tier]!, found[tier - 1]!);
    return found;
  }

  private isAtBound({ ends }: Candidate): boolean {
    return ends.every((end, tier) => end <= this.bound[tier]!);
  }
}

/** Negative if the first is shorter. Lower tiers count more. */
function compare(one: Float64Array, other: Float64Array): number {
  for (let tier = 0; tier < one.length; tier++)
    if (one[tier] !== other[tier]) return one[tier]! - other[tier]!;
  return 0;
}

function isSame(one: Int32Array, other: Int32Array): boolean {
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return true;
}
