import { createHash } from 'node:crypto';
import { type BinaryContent, binaryLabel, binaryOf, replaceBinary } from '../tools/content-parts.ts';
import type { StoredBlob } from './records.ts';
import type { Store } from './store.ts';

/**
 * What stands for binary data in a stored result: a label for people and models, and the id of the data. The data
 * itself is stored once for each batch.
 */
interface BlobReference {
  readonly $blob: string;
  readonly id: string;
}

const ID_LENGTH = 32;
const ID = /^[0-9a-f]{32}$/;

/** Takes the binary data out of a result. A result without any is returned unchanged. */
export function takeBlobs(value: unknown): {
  readonly value: unknown;
  readonly blobs?: readonly StoredBlob[];
} {
  const blobs: StoredBlob[] = [];
  const taken = replaceBinary(value, ({ mimeType }, base64): BlobReference => {
    const bytes = Buffer.from(base64, 'base64');
    const id = createHash('sha256').update(mimeType).update('\0').update(bytes).digest('hex');
    const blob = { id: id.slice(0, ID_LENGTH), mimeType, bytes };
    blobs.push(blob);
    return { $blob: binaryLabel(mimeType, bytes.length), id: blob.id };
  });
  return blobs.length === 0 ? { value } : { value: taken, blobs };
}

/** Whether a result in JSON may refer to binary data. */
export function hasBlobs(json: string): boolean {
  return json.includes('"$blob":');
}

/** Puts the data back as base64 wherever a value refers to it. */
export async function withBlobs(store: Store, batch: string, value: unknown): Promise<unknown> {
  const found = new Map<string, string>();
  for (const { id } of referencesIn(value)) {
    const blob = found.has(id) ? undefined : await store.blob(batch, id);
    if (blob !== undefined) found.set(id, Buffer.from(blob.bytes).toString('base64'));
  }
  return replaceReferences(value, (reference) => found.get(reference.id) ?? reference);
}

/** The value with labels in place of references, for texts. */
export function withLabels(value: unknown): unknown {
  return replaceReferences(value, ({ $blob }) => $blob);
}

/** A content block of a stored result, whose data is in the store. */
export interface StoredBlock extends BinaryContent {
  readonly data: BlobReference;
  readonly block: object;
}

/** The content blocks of a stored result, in order, at any depth. */
export function* blocksIn(value: unknown): Generator<StoredBlock> {
  if (typeof value !== 'object' || value === null) return;
  const binary = binaryOf(value);
  if (binary !== undefined && isReference(binary.data)) yield { ...binary, data: binary.data, block: value };
  else for (const inner of Object.values(value)) yield* blocksIn(inner);
}

function* referencesIn(value: unknown): Generator<BlobReference> {
  if (isReference(value)) yield value;
  else if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) yield* referencesIn(inner);
}

function replaceReferences(value: unknown, replace: (reference: BlobReference) => unknown): unknown {
  if (isReference(value)) return replace(value);
  if (Array.isArray(value)) return value.map((inner) => replaceReferences(inner, replace));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, replaceReferences(inner, replace)]),
  );
}

function isReference(value: unknown): value is BlobReference {
  const { $blob, id, ...rest } = Object(value) as Record<string, unknown>;
  return typeof $blob === 'string' && typeof id === 'string' && ID.test(id) && Object.keys(rest).length === 0;
}
