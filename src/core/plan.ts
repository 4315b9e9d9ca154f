import type { DemandClass } from './demand-class.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Execution } from './execution.ts';
import type { PlacedWorker, WorkerPlacement } from './placement.ts';
import { PlanModel, type PlanPlace, type PlanTask, type RowUse } from './plan-model.ts';
import { PlanSearch } from './plan-search.ts';
import { type ScheduleGenerator, scheduleGenerator } from './schedule-generation.ts';
import { isSettled, Status } from './status.ts';
import { topologicalOrder } from './topological-order.ts';

/**
 * Beyond this many unsettled executions, list scheduling stays in charge. Measured on projects of 1,200 tasks: 4.6 % over
 * the bound with lists, 4.0 if the last 300 are planned, 3.6 with 600, 2.5 with 1,000, 2.3 with all. A draft takes about
 * 10 µs for each execution, and so does each repair.
 */
export const MAX_PLANNED = 1000;
/** If durations spread more than this around their estimates (of the logarithms), a plan says little. */
const MAX_SPREAD = 0.65;
/** An end that is off by more than this share of its estimate is a reason to plan again, if there are enough of them. */
const NOTABLE_DEVIATION = 0.1;
const MIN_DEVIATIONS = 4;
const DEVIATION_SHARE = 4;

/** Executions as a model. */
export interface ModeledWork {
  readonly model: PlanModel;
  /** In the order of the model. */
  readonly executions: readonly Execution[];
  /** What limits starts, by the rows of capacity before some were left out. */
  readonly limiters: readonly Limiter[];
  /** In the order of the model. */
  readonly workers: readonly PlacedWorker[];
  /** The resources that are limited on workers, in the order of the model. */
  readonly resources: readonly number[];
}

/** A plan in the making: the unsettled executions, and the search for an order of those that wait. */
export interface PlanDraft extends ModeledWork {
  readonly search: PlanSearch;
  /** The dispatcher's structure when the draft was made. A plan for another one is of no use. */
  readonly structure: number;
}

/** What limits starts: a countable resource by its index, a tool's or a group's limit, a lock or a conflict. */
type Limiter =
  | { readonly kind: 'resource'; readonly index: number }
  | { readonly kind: 'tool' | 'group' | 'lock' | 'conflict'; readonly name: string };

/**
 * A planned order of executions, and what to start now by it.
 *
 * A plan is neither a strict order nor a list of priorities. Whenever something has ended, the schedule of all that
 * waits is generated again in the planned order, from what really runs and how long that still takes by estimate.
 * Whatever starts now in that schedule may start. So an execution that fits is held back only if by estimate it would
 * delay one that comes before it in the plan, and none comes before one of a higher priority.
 *
 * What is overdue counts as ended: what waits for it keeps its place, and nothing more passes. So wrong estimates
 * delay an execution by at most what is running, and when nothing runs, the first of the order starts.
 */
export class Plan {
  private readonly generator: ScheduleGenerator;
  /** The executions that are not settled in the planned order, and those of them that wait. */
  private readonly unsettled: number[];
  private readonly waiting: number[];
  private next = 0;
  /** When the schedule was last generated. */
  private generatedAt = 0;
  private deviations = 0;
  private readonly places: ReadonlyMap<Execution, number>;
  private readonly workerIndexes: ReadonlyMap<string, number>;

  constructor(private readonly draft: PlanDraft) {
    const { executions, search, model, workers } = draft;
    this.workerIndexes = new Map(workers.map(({ id }, index) => [id, index]));
    this.generator = scheduleGenerator(model);
    this.generator.preferred = search.workers;
    // One that runs may have to be retried.
    const running = Array.from(executions.keys()).filter((task) => model.remaining[task]! >= 0);
    this.unsettled = [...running, ...search.order].sort((a, b) => model.tiers[a]! - model.tiers[b]!);
    this.waiting = Array.from(search.order);
    this.places = new Map(executions.map((execution, place) => [execution, place]));
  }

  /** Whether durations were so far off that planning again may help. */
  get isOutdated(): boolean {
    const { deviations } = this;
    return deviations >= MIN_DEVIATIONS && deviations * DEVIATION_SHARE >= this.waiting.length;
  }

  /** Call this when planning again was considered. */
  reviewed(): void {
    this.deviations = 0;
  }

  /** The numbers of the executions that wait, in the planned order. */
  get order(): number[] {
    return this.waiting.map((task) => this.draft.executions[task]!.seq);
  }

  /** Whether nothing waited when the schedule was last generated. */
  get isOver(): boolean {
    return this.waiting.length === 0;
  }

  /** Begins a new schedule from what runs now. */
  begin(now: number): void {
    const { executions, model } = this.draft;
    const { generator } = this;
    generator.reset();
    this.waiting.length = 0;
    let left = 0;
    for (const task of this.unsettled) {
      const execution = executions[task]!;
      const { state, startedAt, isSaving } = execution;
      const duration = model.durations[task]!;
      const worker = this.workerIndexes.get(execution.worker ?? '') ?? -1;
      if (isSaving) {
        generator.hold(task, 0, worker);
      } else if (state === Status.running) {
        generator.hold(task, Math.max(model.leastLeft, startedAt + duration - now), worker);
      } else if (isSettled(state)) {
        generator.hold(task, 0, worker);
        const off = Math.abs(execution.since - startedAt - duration);
        if (state === Status.completed && off > NOTABLE_DEVIATION * duration) this.deviations++;
        continue;
      } else {
        this.waiting.push(task);
      }
      this.unsettled[left++] = task;
    }
    this.unsettled.length = left;
    this.next = 0;
    this.generatedAt = now;
  }

  /** The next execution that starts now in the schedule. The caller starts it, or leaves its place empty. */
  nextDue(): Execution | undefined {
    const { executions } = this.draft;
    while (this.next < this.waiting.length && this.generator.hasRoomAtStart) {
      const task = this.waiting[this.next++]!;
      const execution = executions[task]!;
      const pauseMs = execution.state === Status.retrying ? execution.retryAt - this.generatedAt : 0;
      const startMs = this.generator.place(task, Math.max(0, pauseMs));
      if (startMs === 0 && execution.state === Status.queued) return execution;
    }
    return undefined;
  }

  /** The worker on which the execution that {@link nextDue} has returned starts; undefined on one machine. */
  get dueOn(): PlacedWorker | undefined {
    return this.draft.workers[this.generator.workers[this.waiting[this.next - 1]!]!];
  }

  /** In how many milliseconds a waiting execution starts by the last schedule; undefined if it was not needed yet. */
  startOf(execution: Execution, now: number): number | undefined {
    const task = this.places.get(execution);
    if (task === undefined || !this.waiting.slice(0, this.next).includes(task)) return undefined;
    return Math.max(0, this.generator.starts[task]! + this.generatedAt - now);
  }
}

/** The draft of a plan for unsettled executions; undefined if they cannot be planned. */
export function draftPlan(
  unsettled: readonly Execution[],
  dispatcher: Dispatcher,
  stepMs: number,
  now: number,
  effort: number,
): PlanDraft | undefined {
  if (dispatcher.isPaused || dispatcher.resuming.length > 0) return undefined;
  const spreads = new Map<object, number>();
  const work = modelWork(unsettled, dispatcher, stepMs, now);
  if (work === undefined || work.model.waiting.length < 2) return undefined;
  for (const execution of work.executions) if (!isPlannable(execution, spreads)) return undefined;
  const search = new PlanSearch(work.model, { effort, known: knownOrder(work.executions, dispatcher) });
  return { ...work, search, structure: dispatcher.structure };
}

/** The place of each task in the order of an earlier plan. New ones come last. */
function knownOrder(
  executions: readonly Execution[],
  { plan, lastOrder }: Dispatcher,
): Float64Array | undefined {
  const order = plan?.order ?? lastOrder;
  if (order.length === 0) return undefined;
  const places = new Map(order.map((seq, place) => [seq, place]));
  return Float64Array.from(executions, ({ seq }) => places.get(seq) ?? order.length);
}

/**
 * The model of unsettled executions, without those whose start cannot be foreseen; undefined if one could never start.
 */
export function modelWork(
  unsettled: readonly Execution[],
  { resources, reserved, placement }: Dispatcher,
  stepMs: number,
  now: number,
): ModeledWork | undefined {
  const members = new Set(unsettled);
  const openOf = ({ dependencies = [] }: Execution) => dependencies.filter(({ isDone }) => !isDone);
  const { order } = topologicalOrder(unsettled, openOf);
  // Nothing can start that depends on an execution with lent resources, and its end is not foreseen.
  // The same holds for what waits for a worker.
  const isWithoutWorker = ({ demand, state }: Execution) =>
    state !== Status.running && placement?.isPossible(demand) === false;
  for (const execution of order)
    if (
      execution.room === 'lent' ||
      isWithoutWorker(execution) ||
      openOf(execution).some((other) => !members.has(other))
    )
      members.delete(execution);
  const executions = order.filter((execution) => members.has(execution));
  const indexes = new Map(executions.map((execution, index) => [execution, index]));
  const tiers = tiersOf(executions, reserved, stepMs);
  const rows = new Rows(resources.limits, executions);
  const places = placement && new Places(placement, executions);
  const tasks = executions.map((execution, place): PlanTask => {
    const { state, startedAt, retryAt, graceUntil, terms, isSaving } = execution;
    return {
      // A compensation seldom runs.
      durationMs: terms.policy === 'on-failure' || isSaving ? 0 : execution.expectedMs,
      elapsedMs: state === Status.running ? now - startedAt : -1,
      readyMs: state === Status.retrying ? Math.max(0, retryAt - now, graceUntil - now) : 0,
      tier: tiers[place]!,
      rank: execution.rank,
      uses: rows.usesOf(execution),
      dependsOn: openOf(execution).map((other) => indexes.get(other)!),
      ...(places !== undefined && { place: places.placeOf(execution) }),
    };
  });
  const { capacities, limiters } = rows;
  const isPossible = tasks.every(({ uses }) => uses.every(({ row, needs }) => needs <= capacities[row]!));
  if (!isPossible) return undefined;
  const model = new PlanModel(
    tasks,
    capacities,
    places && { rule: placement!.rule, capacities: places.capacities },
  );
  return { model, executions, limiters, workers: places?.workers ?? [], resources: places?.resources ?? [] };
}

/** Whether its duration is known well enough, and nothing limits it that a plan cannot foresee. */
function isPlannable({ demand, terms, isEstimateKnown }: Execution, spreads: Map<object, number>): boolean {
  const { tool, group } = demand;
  if (!isEstimateKnown || group.isPaused) return false;
  if (tool.rate !== undefined || group.rate !== undefined) return false;
  const source = terms.isEstimated ? tool.durations : tool;
  let spread = spreads.get(source);
  if (spread === undefined) {
    spread = tool.durations.spread(terms.isEstimated);
    spreads.set(source, spread);
  }
  return spread <= MAX_SPREAD;
}

/**
 * Executions of a later tier never delay those of an earlier one. A new tier begins where a higher priority would
 * otherwise share one with a lower priority that does not deserve it yet, and after one step of the allowance. So
 * priorities and aging mean the same as in the order of ranks. Resources that are reserved stay reserved: their owner
 * is first.
 */
function tiersOf(
  executions: readonly Execution[],
  reserved: Execution | undefined,
  stepMs: number,
): Int32Array {
  const tiers = new Int32Array(executions.length);
  const order = Array.from(executions.keys()).sort((a, b) => {
    const [one, other] = [executions[a]!, executions[b]!];
    if ((one === reserved) !== (other === reserved)) return one === reserved ? -1 : 1;
    return one.urgentBy - other.urgentBy || one.level - other.level || one.seq - other.seq;
  });
  let tier = 0;
  let first = executions[order[0]!];
  let level = 0;
  for (const place of order) {
    const execution = executions[place]!;
    const isLower = execution.level > level && execution !== first;
    if (isLower || first === reserved || execution.urgentBy - first!.urgentBy >= stepMs) {
      if (execution !== first) tier++;
      first = execution;
      level = execution.level;
    } else {
      level = execution === first ? execution.level : Math.min(level, execution.level);
    }
    tiers[place] = tier;
  }
  return tiers;
}

/** The workers that executions can be placed on, with the resources that are limited there. */
class Places {
  readonly workers: readonly PlacedWorker[];
  readonly capacities: readonly (readonly number[])[];
  readonly resources: readonly number[];
  private readonly indexes: ReadonlyMap<string, number>;
  /** The lists of workers by their numbers, and by class. */
  private readonly pools = new Map<string, readonly number[]>();
  private readonly poolOf = new Map<DemandClass, readonly number[]>();

  constructor(
    private readonly placement: WorkerPlacement,
    executions: readonly Execution[],
  ) {
    const needed = new Set<number>();
    for (const { demand } of executions)
      for (const [index, need] of demand.needs.entries()) if (need > 0) needed.add(index);
    this.workers = [...placement.workers.values()].filter(({ isDraining }) => !isDraining);
    this.resources = [...needed].filter((index) =>
      this.workers.some((worker) => Number.isFinite(worker.limitOf(index))),
    );
    this.capacities = this.workers.map((worker) => this.resources.map((index) => worker.limitOf(index)));
    this.indexes = new Map(this.workers.map(({ id }, index) => [id, index]));
  }

  placeOf({ demand, state, worker, dependencies = [] }: Execution): PlanPlace {
    const { indexes } = this;
    const indexOf = (id: string | undefined) => indexes.get(id ?? '') ?? -1;
    return {
      workers: this.poolFor(demand),
      needs: this.resources.map((index) => demand.needs[index] ?? 0),
      runsOn: state === Status.running ? indexOf(worker) : -1,
      near: dependencies.flatMap((other) =>
        other.isDone && indexOf(other.worker) >= 0 ? [indexOf(other.worker)] : [],
      ),
    };
  }

  private poolFor(demand: DemandClass): readonly number[] {
    const known = this.poolOf.get(demand);
    if (known !== undefined) return known;
    const pool = this.placement.largeEnough(demand).map(({ id }) => this.indexes.get(id)!);
    const key = pool.join();
    const shared = this.pools.get(key) ?? pool;
    this.pools.set(key, shared);
    this.poolOf.set(demand, shared);
    return shared;
  }
}

/** Everything that limits starts, as rows of capacity. */
class Rows {
  readonly capacities: number[] = [];
  readonly limiters: Limiter[] = [];
  private readonly known = new Map<object, Map<string, number>>();
  /** The tools that a conflict was declared with. */
  private readonly contested = new Set<object>();
  /** More than can run at once. */
  private readonly many: number;

  constructor(limits: readonly number[], executions: readonly Execution[]) {
    this.many = executions.length;
    for (const [index, limit] of limits.entries()) {
      this.capacities.push(limit);
      this.limiters.push({ kind: 'resource', index });
    }
    for (const { demand } of executions) for (const other of demand.conflicts) this.contested.add(other);
  }

  usesOf({ demand, claims = [] }: Execution): RowUse[] {
    const { needs, tool, group, conflicts } = demand;
    const { many } = this;
    const uses: RowUse[] = [];
    const use = (row: number, needed: number, takes: number) => uses.push({ row, needs: needed, takes });
    for (let row = 0; row < needs.length; row++) if (needs[row]! > 0) use(row, needs[row]!, needs[row]!);
    if (tool.maxConcurrency < many) use(this.row(tool, 'tool', tool.name, tool.maxConcurrency), 1, 1);
    if (group.maxConcurrency < many) use(this.row(group, 'group', group.name, group.maxConcurrency), 1, 1);
    for (const { lock, exclusive } of claims) {
      const amount = exclusive ? many : 1;
      use(this.row(lock, 'lock', lock.name, many), amount, amount);
    }
    // Those of a tool, and those that conflict with it, each need that none of the others runs.
    const declared = new Set<object>(conflicts);
    const touched = this.contested.has(tool) ? [...new Set([tool, ...conflicts])] : conflicts;
    for (const other of touched) {
      const ofTool = this.row(other, 'conflict', other.name, many);
      const against = this.row(other, 'conflict', other.name, many, 'against');
      const isOwn = other === tool;
      const isDeclared = declared.has(other);
      use(ofTool, isDeclared ? many : 0, isOwn ? 1 : 0);
      use(against, isOwn ? many : 0, isDeclared ? 1 : 0);
    }
    return uses;
  }

  private row(
    of: object,
    kind: Exclude<Limiter['kind'], 'resource'>,
    name: string,
    capacity: number,
    side = '',
  ): number {
    const rows = this.known.get(of) ?? new Map<string, number>();
    this.known.set(of, rows);
    let row = rows.get(kind + side);
    if (row === undefined) {
      row = this.capacities.push(capacity) - 1;
      this.limiters.push({ kind, name });
      rows.set(kind + side, row);
    }
    return row;
  }
}
