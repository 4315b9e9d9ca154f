import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { listText } from '../../core/words.ts';
import type { Feature, Subtask } from './feature.ts';

const MAX_LISTED = 10;

/** Pads a sequence number to at least two digits. Anything that is not a number is returned trimmed. */
export function normalizeSeq(value: string | number): string {
  const text = String(value).trim();
  return /^\d{1,9}$/.test(text) ? String(Number(text)).padStart(2, '0') : text;
}

export function isSeq(text: string): boolean {
  return /^\d{2,9}$/.test(text);
}

/** Accepts `1`, `01` and `auth-system-01`. */
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

/** Undefined if it is not the name of a subtask file. */
export function seqFromFile(file: string): string | undefined {
  const found = /^subtask_(.+)\.json$/.exec(file)?.[1];
  return found === undefined ? undefined : normalizeSeq(found);
}

/** Finds a subtask by `1`, `01` or `auth-system-01`. */
export function findSubtask(feature: Feature, reference: string): Subtask {
  const { name, problems } = feature;
  const seq = seqFromReference(reference, name);
  const [found, second] = feature.subtasks.filter((one) => one.seq === seq);
  if (second !== undefined) {
    const message = `${found!.file} and ${second.file} are both subtask ${seq} of ${name}. Rename one of them.`;
    throw new VolleyError('INVALID_FEATURE', message, { feature: name, seq });
  }
  if (found !== undefined) return found;
  const file = feature.broken.find((one) => one.seq === seq)?.file;
  if (file === undefined) throw unknownSubtask(feature, reference, seq);
  const why = problems.find((one) => one.file === `${name}/${file}`);
  const message = `Cannot read subtask ${seq}: ${name}/${file}: ${why?.text} ${why?.remedy}`;
  throw new VolleyError('INVALID_FEATURE', message, { feature: name, seq, file });
}

/** The error for a feature that was archived. */
export function archivedFeature(name: string, path: string): VolleyError {
  const message = `${name} is archived. Its files are in ${path}; move that folder back to use it again.`;
  return new VolleyError('UNKNOWN_FEATURE', message, { feature: name, archived: path });
}

export function unknownFeature(name: string, known: readonly string[]): VolleyError {
  const close = nearest(name, known);
  const hint =
    known.length === 0
      ? 'No features yet. Create one with volley tasks new.'
      : close === undefined
        ? `Features: ${listText(known.slice(0, MAX_LISTED), known.length)}.`
        : `Did you mean ${JSON.stringify(close)}?`;
  const message = `Unknown feature ${JSON.stringify(name)}. ${hint}`;
  return new VolleyError('UNKNOWN_FEATURE', message, { feature: name, nearest: close });
}

function unknownSubtask({ name, subtasks }: Feature, reference: string, seq: string): VolleyError {
  const seqs = subtasks.map((one) => one.seq);
  const close = nearestSeq(seq, seqs);
  const hint =
    close === undefined ? 'It has no subtasks.' : `It has ${rangeText(seqs)}. Did you mean ${close}?`;
  const message = `${name} has no subtask ${JSON.stringify(reference)}. ${hint}`;
  return new VolleyError('UNKNOWN_SUBTASK', message, { feature: name, seq, nearest: close });
}

/** The nearest by number, or by spelling if `seq` is not a number. */
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
