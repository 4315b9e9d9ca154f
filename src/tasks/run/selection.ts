import { VolleyError } from '../../core/errors.ts';
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

/** The subtasks of a run. */
export interface Selection {
  /** To be delegated, ordered by number. */
  readonly subtasks: readonly Subtask[];
  /** Requested, but already completed. */
  readonly done: readonly Subtask[];
  /** Open subtasks that cannot run, and why. */
  readonly leftOut: readonly { readonly seq: string; readonly why: string }[];
  /** The number of the batch, if exactly that was requested. */
  readonly batch: number | undefined;
  readonly isExplicit: boolean;
}

const MAX_SHOWN = 5;

/** Chooses the subtasks to run. Throws if they cannot run safely. */
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

/** The requested subtasks. Batches are those of the whole feature, so their numbers do not change. */
function askedFor(
  feature: Feature,
  { subtasks, batch }: RunRequest,
  waves: readonly (readonly Subtask[])[],
): readonly Subtask[] | undefined {
  if (subtasks !== undefined && batch !== undefined)
    throw new VolleyError('INVALID_VALUE', 'Choose either subtasks or a batch, not both.');
  if (subtasks !== undefined) {
    if (subtasks.length === 0) throw new VolleyError('INVALID_VALUE', 'The list of subtasks is empty.');
    const seqs = new Set(subtasks.map((reference) => findSubtask(feature, reference)));
    return feature.subtasks.filter((subtask) => seqs.has(subtask));
  }
  if (batch === undefined) return undefined;
  const wave = waves[batch - 1];
  const members = new Set(wave);
  if (wave !== undefined) return feature.subtasks.filter((subtask) => members.has(subtask));
  throw new VolleyError(
    'INVALID_VALUE',
    `${feature.name} has no batch ${batch}. It has ${waves.length === 1 ? '1 batch' : `${waves.length} batches`}.`,
    { batch },
  );
}

function wholeFeature(feature: Feature, { serialize = false }: RunRequest, moment: Moment): Selection {
  const problems = validateFeature(feature).filter(
    // The first change corrects the counters.
    ({ code }) => code !== 'count' && !(serialize && code === 'overlap'),
  );
  refuse(feature, problems);
  const done = feature.subtasks.filter(({ status }) => status === 'completed');
  const leftOut = new Map<string, string>();
  for (const subtask of feature.subtasks) {
    const status = effectiveStatus(subtask, moment);
    if (status === 'blocked')
      leftOut.set(subtask.seq, `it is blocked (${subtask.blockedReason ?? 'no reason given'})`);
    if (subtask.review !== undefined) leftOut.set(subtask.seq, 'its work waits for review');
    else if (status === 'in_progress')
      leftOut.set(subtask.seq, `${subtask.claim?.agent ?? subtask.agentId ?? 'someone'} is working on it`);
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
    ? ' To run subtasks that may write the same files one after another, run the whole feature with --serialize.'
    : '';
  const texts = errors.map(featureProblemText);
  throw new VolleyError(
    'INVALID_FEATURE',
    `Nothing was started: ${name} cannot run like this. ${texts.slice(0, MAX_SHOWN).join(' ')}${overlap}`,
    { feature: name, problems: texts },
  );
}

function isSame(a: readonly Subtask[], b: readonly Subtask[]): boolean {
  const members = new Set(b);
  return a.length === b.length && a.every((one) => members.has(one));
}
