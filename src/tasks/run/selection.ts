import { VolleyError } from '../../core/errors.ts';
import { countText } from '../../core/words.ts';
import {
  type Feature,
  type FeatureProblem,
  featureProblemText,
  onlyErrors,
  type Subtask,
} from '../files/feature.ts';
import { effectiveStatus, type Moment } from '../files/readiness.ts';
import { findSubtask } from '../files/subtask-reference.ts';
import { planWaves } from '../plan/subtask-graph.ts';
import { validateBatch, validateFeature } from '../plan/validate.ts';
import type { RunRequest } from './run-request.ts';

/** What a run shall do. */
export interface Selection {
  /** What is to be delegated, in the order of the numbers. */
  readonly subtasks: readonly Subtask[];
  /** What was asked for and is done already. */
  readonly done: readonly Subtask[];
  /** What is open and cannot be run, with the reason. */
  readonly leftOut: readonly { readonly seq: string; readonly why: string }[];
  /** The number of the batch, where all that was asked for is one. */
  readonly batch: number | undefined;
  readonly isExplicit: boolean;
}

const MAX_SHOWN = 5;

/** Chooses what is run, and refuses what is not safe before anything starts. */
export function selectSubtasks(feature: Feature, request: RunRequest, moment: Moment): Selection {
  const waves = planWaves(feature.subtasks);
  const asked = askedFor(feature, request, waves);
  if (asked === undefined) return wholeFeature(feature, request, moment);
  const done = asked.filter(({ status }) => status === 'completed');
  const subtasks = asked.filter(({ status }) => status !== 'completed');
  const files = new Set(subtasks.map(({ file }) => `${feature.name}/${file}`));
  const own = validateFeature(feature).filter(({ file, code }) => files.has(file) && code !== 'overlap');
  const members = subtasks.map(({ seq }) => seq);
  refuse(feature, [...own, ...validateBatch(feature, members, moment)]);
  const place = waves.findIndex((wave) => isSame(wave, asked));
  const batch = place < 0 ? undefined : place + 1;
  return { subtasks, done, leftOut: [], batch, isExplicit: true };
}

/** The batches of a feature, whatever is done of it: their numbers stay the same while it goes on. */
function askedFor(
  feature: Feature,
  { subtasks, batch }: RunRequest,
  waves: readonly (readonly Subtask[])[],
): readonly Subtask[] | undefined {
  if (subtasks !== undefined && batch !== undefined)
    throw new VolleyError('INVALID_VALUE', 'Give either the subtasks or the number of a batch, not both.');
  if (subtasks !== undefined) {
    if (subtasks.length === 0)
      throw new VolleyError('INVALID_VALUE', 'The batch has no subtasks: name some.');
    const seqs = new Set(subtasks.map((reference) => findSubtask(feature, reference)));
    return feature.subtasks.filter((subtask) => seqs.has(subtask));
  }
  if (batch === undefined) return undefined;
  const wave = waves[batch - 1];
  if (wave !== undefined) return feature.subtasks.filter((subtask) => wave.includes(subtask));
  throw new VolleyError(
    'INVALID_VALUE',
    `${feature.name} has no batch ${batch}: it has ${countText(waves.length, 'batch').replace('batchs', 'batches')}.`,
    { batch },
  );
}

function wholeFeature(feature: Feature, { serialize = false }: RunRequest, moment: Moment): Selection {
  const problems = validateFeature(feature).filter(
    // Counters follow with the first change.
    ({ code }) => code !== 'count' && !(serialize && code === 'overlap'),
  );
  refuse(feature, problems);
  const done = feature.subtasks.filter(({ status }) => status === 'completed');
  const leftOut = new Map<string, string>();
  for (const subtask of feature.subtasks) {
    const status = effectiveStatus(subtask, moment);
    if (status === 'blocked')
      leftOut.set(subtask.seq, `it is blocked (${subtask.blockedReason ?? 'no reason given'})`);
    if (status === 'in_progress')
      leftOut.set(subtask.seq, `${subtask.claim?.agent ?? subtask.agentId ?? 'somebody'} works on it`);
  }
  for (let before = -1; before !== leftOut.size; ) {
    before = leftOut.size;
    for (const { seq, status, dependsOn } of feature.subtasks) {
      const lacking = dependsOn.find((one) => leftOut.has(one));
      if (status !== 'completed' && lacking !== undefined && !leftOut.has(seq))
        leftOut.set(seq, `it waits for ${lacking}`);
    }
  }
  return {
    subtasks: feature.subtasks.filter(({ seq, status }) => status !== 'completed' && !leftOut.has(seq)),
    done,
    leftOut: feature.subtasks.flatMap(({ seq }) => {
      const why = leftOut.get(seq);
      return why === undefined ? [] : [{ seq, why }];
    }),
    batch: undefined,
    isExplicit: false,
  };
}

function refuse({ name }: Feature, problems: readonly FeatureProblem[]): void {
  const errors = onlyErrors(problems);
  if (errors.length === 0) return;
  const overlap = errors.some(({ code }) => code === 'overlap')
    ? ' With --serialize a whole feature runs those one after another that may write to the same files.'
    : '';
  const texts = errors.map(featureProblemText);
  throw new VolleyError(
    'INVALID_FEATURE',
    `${name} cannot be run like that, so nothing was started.${overlap} ${texts.slice(0, MAX_SHOWN).join(' ')}`,
    { feature: name, problems: texts },
  );
}

function isSame(a: readonly Subtask[], b: readonly Subtask[]): boolean {
  return a.length === b.length && a.every((one) => b.includes(one));
}
