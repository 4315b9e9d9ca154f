import type { Feature, Subtask } from './feature.ts';
import { criticalPath } from './graph/critical-path.ts';
import { wavesOf } from './graph/waves.ts';
import { errorsOf, type Problem } from './problem.ts';
import { validateFeature } from './validate/feature.ts';

/** How what is open of a feature could be run. */
export interface FeaturePlan {
  /** Each can run at once when those before it are done. */
  readonly waves: readonly (readonly Subtask[])[];
  /** The number of each wave among those of the whole feature: it stays the same while the feature goes on. */
  readonly numbers: readonly number[];
  /** The longest chain of what waits for each other: no run has fewer steps. */
  readonly criticalPath: readonly Subtask[];
  /** What speaks against running it, overlapping deliverables among it. */
  readonly conflicts: readonly Problem[];
  /** Blocked, and what waits for something blocked, missing or in a circle: it is in no wave. */
  readonly left: readonly Subtask[];
}

export function planOf(feature: Feature): FeaturePlan {
  const possible = new Set(startable(feature));
  const all = wavesOf(feature.subtasks).map((wave, place) => ({
    number: place + 1,
    open: wave.filter((subtask) => possible.has(subtask)),
  }));
  const some = all.filter(({ open }) => open.length > 0);
  const waves = some.map(({ open }) => open);
  const planned = new Set(waves.flat());
  return {
    waves,
    numbers: some.map(({ number }) => number),
    criticalPath: criticalPath([...planned]),
    conflicts: errorsOf(validateFeature(feature)),
    left: feature.subtasks.filter((subtask) => subtask.status !== 'completed' && !planned.has(subtask)),
  };
}

/** What is open and waits for nothing that will not come. */
function startable({ subtasks }: Feature): Subtask[] {
  const done = new Set(subtasks.filter(({ status }) => status === 'completed').map(({ seq }) => seq));
  let open = subtasks.filter(({ status }) => status === 'pending' || status === 'in_progress');
  for (let before = -1; before !== open.length; ) {
    before = open.length;
    const coming = new Set(open.map(({ seq }) => seq));
    open = open.filter(({ dependsOn }) => dependsOn.every((seq) => done.has(seq) || coming.has(seq)));
  }
  return open;
}
