import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { listText } from '../../core/words.ts';
import type { Feature, Subtask } from './feature.ts';

/** The one form of a sequence number: two digits, or more where they are needed. What is no number stays as it is. */
export function normalizeSeq(value: string | number): string {
  const text = String(value).trim();
  return /^\d{1,9}$/.test(text) ? String(Number(text)).padStart(2, '0') : text;
}

export function isSeq(text: string): boolean {
  return /^\d{2,9}$/.test(text);
}

/** The sequence that a reference means: `1`, `01` or `auth-system-01`. */
export function seqFromReference(reference: string | number, feature: string): string {
  const text = String(reference).trim();
  const prefix = `${feature}-`;
  return normalizeSeq(text.startsWith(prefix) ? text.slice(prefix.length) : text);
}

export function compareSeqs(a: string, b: string): number {
  const [first, second] = [Number(a), Number(b)];
  if (Number.isNaN(first) || Number.isNaN(second)) return a < b ? -1 : Number(a > b);
  return first - second;
}

export function subtaskFile(seq: string): string {
  return `subtask_${seq}.json`;
}

/** The sequence that the name of a file says; undefined where it is no file of a subtask. */
export function seqFromFile(file: string): string | undefined {
  const found = /^subtask_(.+)\.json$/.exec(file)?.[1];
  return found === undefined ? undefined : normalizeSeq(found);
}

const MAX_LISTED = 10;

/** The subtask that a reference means: `1`, `01` or `auth-system-01`. */
export function findSubtask(feature: Feature, reference: string): Subtask {
  const seq = seqFromReference(reference, feature.name);
  const [found, second] = feature.subtasks.filter((one) => one.seq === seq);
  if (second !== undefined) {
    throw new VolleyError(
      'INVALID_FEATURE',
      `Both ${found!.file} and ${second.file} are subtask ${seq} of ${feature.name}: rename one of them.`,
      { feature: feature.name, seq },
    );
  }
  if (found !== undefined) return found;
  const broken = feature.broken.find((one) => one.seq === seq);
  if (broken !== undefined) {
    const why = feature.problems.find(({ file }) => file === `${feature.name}/${broken.file}`);
    throw new VolleyError(
      'INVALID_FEATURE',
      `Subtask ${seq} cannot be read: ${feature.name}/${broken.file}: ${why?.text} ${why?.remedy}`,
      { feature: feature.name, seq, file: broken.file },
    );
  }
  throw unknownSubtask(feature, reference, seq);
}

export function unknownFeature(name: string, known: readonly string[]): VolleyError {
  const close = nearest(name, known);
  const hint =
    known.length === 0
      ? 'there are none yet: volley tasks new makes one'
      : close === undefined
        ? `there are ${listText(known.slice(0, MAX_LISTED), known.length)}`
        : `did you mean ${JSON.stringify(close)}?`;
  return new VolleyError('UNKNOWN_FEATURE', `There is no feature ${JSON.stringify(name)}: ${hint}`, {
    feature: name,
    nearest: close,
  });
}

function unknownSubtask({ name, subtasks }: Feature, reference: string, seq: string): VolleyError {
  const seqs = subtasks.map((one) => one.seq);
  const close = nearestSeq(seq, seqs);
  const hint =
    close === undefined ? 'it has no subtasks' : `it has ${rangeText(seqs)}; did you mean ${close}?`;
  return new VolleyError(
    'UNKNOWN_SUBTASK',
    `There is no subtask ${JSON.stringify(reference)} in ${name}: ${hint}`,
    { feature: name, seq, nearest: close },
  );
}

/** The nearest by number; of what is no number the nearest by letters. */
function nearestSeq(seq: string, seqs: readonly string[]): string | undefined {
  const wanted = Number(seq);
  if (Number.isNaN(wanted)) return nearest(seq, seqs) ?? seqs[0];
  const distance = (one: string) => Math.abs(Number(one) - wanted);
  return [...seqs].sort((a, b) => distance(a) - distance(b) || compareSeqs(a, b))[0];
}

function rangeText(seqs: readonly string[]): string {
  const [first, last] = [seqs[0]!, seqs.at(-1)!];
  if (Number(last) - Number(first) !== seqs.length - 1)
    return listText(seqs.slice(0, MAX_LISTED), seqs.length);
  return seqs.length < 3 ? listText(seqs) : `${first} to ${last}`;
}
