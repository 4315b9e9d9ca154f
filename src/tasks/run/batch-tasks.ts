import { oneLine } from '../../batch/text.ts';
import { PRIORITIES } from '../../core/priority.ts';
import { NO_WIRE_NEEDS } from '../../core/resource-table.ts';
import type { Subtask } from '../feature.ts';
import { DependencyMap } from '../graph/dependencies.ts';
import { wavesOf } from '../graph/waves.ts';
import { overlapOf } from '../overlap/deliverables.ts';
import type { RunTerms } from './request.ts';

export const TOOL_NAME = 'delegate_subtask';

/** How many locks a task of a batch may name. */
const MAX_LOCKS = 64;
const LONGEST_NAME = 190;
/**
 * An attempt keeps to its time by itself, for the engine goes on as soon as it has told one to stop: the next would begin
 * while the agent of this one is being ended. What has been verified by then may still be merged.
 */
const SPARE_SECONDS = 3600;

export interface BatchPlan {
  readonly feature: string;
  /** Which run the tasks belong to: nobody else may do them. */
  readonly run: string;
  readonly terms: RunTerms;
  readonly waves: boolean;
  /** The name of each one's agent. */
  agentOf(seq: string): string;
}

/** The tasks of a batch that delegate subtasks: their order, and what may not run beside what. */
export function batchTasks(subtasks: readonly Subtask[], plan: BatchPlan): Record<string, unknown>[] {
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
      function: TOOL_NAME,
      params: { feature, seq, agent: plan.agentOf(seq), run },
      ...(after.size > 0 && { depends_on: [...after] }),
      ...(isPriority(priority) && { priority }),
      max_retries: terms.maxRetries,
      timeout: terms.timeoutMs / 1000 + SPARE_SECONDS,
      resources: { ...NO_WIRE_NEEDS, ...locks.of(subtask) },
    };
  });
}

function waveBefore(subtasks: readonly Subtask[]): Map<string, readonly string[]> {
  const waves = wavesOf(subtasks);
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

/** What keeps subtasks apart: one that may not run beside others, and those that may write to the same files. */
class Locks {
  private readonly whole: string;
  /** For each, the earlier ones that it overlaps with. */
  private readonly earlier = new Map<string, string[]>();
  private readonly overlapped = new Set<string>();

  constructor(
    private readonly feature: string,
    subtasks: readonly Subtask[],
  ) {
    this.whole = `feature:${feature}`.slice(0, 200);
    const map = new DependencyMap(subtasks);
    const parallel = subtasks.filter((subtask) => subtask.parallel);
    for (const [place, subtask] of parallel.entries()) {
      for (const other of parallel.slice(0, place)) {
        if (overlapOf(other, subtask) === undefined) continue;
        if (map.waitsFor(subtask.seq, other.seq) || map.waitsFor(other.seq, subtask.seq)) continue;
        this.earlier.set(subtask.seq, [...(this.earlier.get(subtask.seq) ?? []), other.seq]);
        this.overlapped.add(other.seq);
      }
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
