import { VolleyError } from '../core/errors.ts';

/** Tasks that a batch may ever have had. Keys stay whole numbers of JavaScript for the first 8 million batches. */
export const MAX_SEQ = 2 ** 30 - 1;
const SPAN = MAX_SEQ + 1;

/** The number of a batch and that of a task within it, as one number that sorts by both. */
export function keyOf(batchId: number, seq: number): number {
  return batchId * SPAN + seq;
}

export function seqOf(key: number): number {
  return key % SPAN;
}

/** The last key that a task of the batch can have. */
export function lastKeyOf(batchId: number): number {
  return keyOf(batchId, MAX_SEQ);
}

export function checkRoomFor(batch: string, lastSeq: number, added: number): void {
  if (lastSeq + added <= MAX_SEQ) return;
  throw new VolleyError(
    'INVALID_VALUE',
    `The batch ${JSON.stringify(batch)} has had ${lastSeq} tasks: use another one.`,
  );
}
