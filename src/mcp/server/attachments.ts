import { type McpContent, mcpContent } from '../../coordinator/formats/mcp.ts';
import { blocksIn } from '../../store/blobs.ts';
import type { Store } from '../../store/store.ts';
import { binaryLabel } from '../../tools/content-parts.ts';

/** How many pictures, sounds and files an answer has, and their size together. */
interface AttachmentLimits {
  readonly count: number;
  readonly bytes: number;
}

/** On a page of results: a few small ones, because each costs the model a lot. */
export const FEW: AttachmentLimits = { count: 4, bytes: 2 ** 20 };
/** For one result that was asked for. */
export const MANY: AttachmentLimits = { count: 20, bytes: 2 ** 23 };

export interface Attachments {
  readonly content: readonly McpContent[];
  /** Which results they belong to, and what was left out; undefined if there is nothing to attach. */
  readonly note: string | undefined;
}

/** The pictures, sounds and files of results, by task id, as far as they fit. */
export async function attachmentsOf(
  store: Store,
  batch: string,
  results: Iterable<readonly [id: string, result: unknown]>,
  limits: AttachmentLimits,
): Promise<Attachments> {
  const content: McpContent[] = [];
  const attached: string[] = [];
  const seen = new Set<string>();
  let [bytes, left] = [0, 0];
  for (const [task, result] of results) {
    for (const { kind, mimeType, data, block } of blocksIn(result)) {
      if (seen.has(data.id)) continue;
      seen.add(data.id);
      const blob = content.length < limits.count ? await store.blob(batch, data.id) : undefined;
      if (blob === undefined || bytes + blob.bytes.length > limits.bytes) {
        left++;
        continue;
      }
      bytes += blob.bytes.length;
      const base64 = Buffer.from(blob.bytes).toString('base64');
      content.push(mcpContent({ kind, mimeType, base64, block }));
      attached.push(`${task} ${binaryLabel(mimeType, blob.bytes.length)}`);
    }
  }
  const notes = [
    attached.length === 0 ? [] : [`Attached, in this order: ${attached.join(', ')}.`],
    left === 0 ? [] : [`Not attached: ${left}. Call batch_results with the id of one task to get its own.`],
  ].flat();
  return { content, note: notes.length === 0 ? undefined : notes.join(' ') };
}
