import { z } from 'zod';
import { oneLine } from '../../batch/text.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { AGENTS_RESOURCE } from '../../coordinator/remote-runner.ts';
import { VolleyError } from '../../core/errors.ts';
import type { Labels } from '../../core/labels.ts';
import { PRIORITIES } from '../../core/priority.ts';
import { NO_WIRE_NEEDS } from '../../core/resource-table.ts';
import { DELEGATE_TOOL } from '../../core/script-tools.ts';
import type { ToolContext } from '../../runners/runner.ts';
import { defineTool } from '../../tools/define-tool.ts';
import type { Subtask } from '../files/feature.ts';
import { OverlapIndex } from '../plan/deliverables.ts';
import { planWaves, SubtaskGraph } from '../plan/subtask-graph.ts';
import { MAX_REPAIRS, type SubtaskResult } from './attempt.ts';
import type { RunTerms } from './run-request.ts';

/** The maximum number of locks of a task. */
const MAX_LOCKS = 64;
/** The maximum number of retries of a task. */
const MAX_RETRIES = 100;
const LONGEST_NAME = 190;
/**
 * Attempts enforce their own timeout. The engine would start the next attempt while this agent is still being terminated,
 * so its timeout is longer. Work that was verified in time may still be merged.
 */
const SPARE_SECONDS = 3600;
/** Reviewers may take their time while other agents work: three weeks. */
const REVIEW_SECONDS = 21 * 24 * 3600;

interface BatchTaskPlan {
  readonly feature: string;
  /** The secret id of the run: the tasks work only for it. */
  readonly run: string;
  readonly terms: RunTerms;
  readonly waves: boolean;
  agentOf(seq: string): string;
}

/** The batch tasks that delegate subtasks, with their order and locks. */
export function batchTasks(subtasks: readonly Subtask[], plan: BatchTaskPlan): Record<string, unknown>[] {
  const { feature, run, terms } = plan;
  const members = new Set(subtasks.map(({ seq }) => seq));
  const before = plan.waves ? waveBefore(subtasks) : new Map<string, readonly string[]>();
  const locks = new Locks(feature, subtasks);
  return subtasks.map((subtask) => {
    const { seq, title, dependsOn, priority } = subtask;
    const after = new Set([...dependsOn.filter((one) => members.has(one)), ...(before.get(seq) ?? [])]);
    return {
      id: seq,
      name: oneLine(title, LONGEST_NAME) || seq,
      function: DELEGATE_TOOL,
      params: { feature, seq, agent: plan.agentOf(seq), run },
      ...(after.size > 0 && { depends_on: [...after] }),
      ...(isPriority(priority) && { priority }),
      // Attempts decide themselves whether another one follows.
      max_retries: terms.review ? MAX_RETRIES : Math.min(MAX_RETRIES, terms.maxRetries + MAX_REPAIRS),
      timeout: terms.review ? REVIEW_SECONDS : terms.timeoutMs / 1000 + SPARE_SECONDS,
      resources: {
        ...NO_WIRE_NEEDS,
        ...locks.of(subtask),
        ...(terms.workers && { [AGENTS_RESOURCE]: 1 }),
      },
    };
  });
}

function waveBefore(subtasks: readonly Subtask[]): Map<string, readonly string[]> {
  const waves = planWaves(subtasks);
  return new Map(
    waves.flatMap((wave, place) =>
      wave.map(({ seq }): [string, readonly string[]] => [
        seq,
        waves[place - 1]?.map((one) => one.seq) ?? [],
      ]),
    ),
  );
}

function isPriority(text: string | undefined): boolean {
  return text !== undefined && ([...PRIORITIES, 'medium'] as string[]).includes(text);
}

/** Locks that keep apart subtasks that are not parallel or may write the same files. */
class Locks {
  private readonly whole: string;
  /** The earlier subtasks that each one overlaps with. */
  private readonly earlier = new Map<string, string[]>();
  private readonly overlapped = new Set<string>();

  constructor(
    private readonly feature: string,
    subtasks: readonly Subtask[],
  ) {
    this.whole = `feature:${feature}`.slice(0, 200);
    const graph = new SubtaskGraph(subtasks);
    const parallel = subtasks.filter((subtask) => subtask.parallel);
    const index = new OverlapIndex();
    for (const subtask of parallel) {
      for (const other of index.overlapping(subtask)) {
        if (graph.areOrdered(subtask.seq, other.seq)) continue;
        this.earlier.set(subtask.seq, [...(this.earlier.get(subtask.seq) ?? []), other.seq]);
        this.overlapped.add(other.seq);
      }
      index.add(subtask);
    }
  }

  of({ seq, parallel }: Subtask): { exclusive?: string[]; shared?: string[] } {
    const earlier = this.earlier.get(seq) ?? [];
    if (!parallel || earlier.length > MAX_LOCKS - 2) return { exclusive: [this.whole] };
    return {
      shared: [this.whole, ...earlier.map((one) => this.nameOf(one))],
      ...(this.overlapped.has(seq) && { exclusive: [this.nameOf(seq)] }),
    };
  }

  private nameOf(seq: string): string {
    return `files:${this.feature.slice(0, 150)}:${seq}`;
  }
}

interface RunningFeature {
  attempt(seq: string, context: ToolContext): Promise<SubtaskResult>;
  /** The quotas of the agents of a subtask, in their order. */
  quotasOf(seq: string): readonly string[];
  /** The labels of the workers that can run the agents of a subtask; undefined if they run here. */
  placeOf(seq: string): Labels | undefined;
}

const INPUT = z.strictObject({ feature: z.string(), seq: z.string(), agent: z.string(), run: z.string() });

/** The current runs of each coordinator, by secret id. */
const known = new WeakMap<ParallelToolCoordinator, Map<string, RunningFeature>>();

/**
 * Lets batch tasks delegate subtasks during a run. The tool is internal: it is not listed, and requires the id of a run.
 * The returned function ends this, and waits for attempts that are still ending, which the engine does not.
 */
export function openDelegations(
  coordinator: ParallelToolCoordinator,
  run: string,
  { attempt, quotasOf, placeOf }: RunningFeature,
): () => Promise<void> {
  let runs = known.get(coordinator);
  if (runs === undefined) {
    runs = new Map();
    known.set(coordinator, runs);
    const all = runs;
    coordinator.registerInternal(delegateTool(all), (input) => {
      const { run: id, seq } = input as z.infer<typeof INPUT>;
      return all.get(id)?.placeOf(seq);
    });
  }
  const open = new Set<Promise<unknown>>();
  runs.set(run, {
    quotasOf,
    placeOf,
    attempt: (seq, context) => {
      const going = attempt(seq, context);
      open.add(going);
      return going.finally(() => open.delete(going));
    },
  });
  return async () => {
    runs.delete(run);
    await Promise.allSettled(open);
  };
}

/** Not idempotent: after a crash, the next run decides by the task files. */
function delegateTool(runs: ReadonlyMap<string, RunningFeature>) {
  return defineTool<z.infer<typeof INPUT>, SubtaskResult>({
    name: DELEGATE_TOOL,
    description: 'Delegates a subtask to an agent. Used only by volley tasks run.',
    input: INPUT,
    quota: ({ run, seq }) => runs.get(run)?.quotasOf(seq),
    run: ({ run, seq }, context) => {
      const feature = runs.get(run);
      if (feature !== undefined) return feature.attempt(seq, context);
      throw new VolleyError(
        'TOOL_NOT_ALLOWED',
        `The tool ${DELEGATE_TOOL} can only be called by volley tasks run.`,
        { name: DELEGATE_TOOL },
      );
    },
  });
}
