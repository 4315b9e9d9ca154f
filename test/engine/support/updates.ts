import type { MissedUpdates, ProgressStream, ProgressUpdate } from '../../../src/index.ts';

export type Update = ProgressUpdate | MissedUpdates;

/** Reads a stream to its end, or up to the first update of a type. */
export async function readUpdates(stream: ProgressStream, until?: Update['type']): Promise<Update[]> {
  const updates: Update[] = [];
  for await (const update of stream) {
    updates.push(update);
    if (update.type === until) break;
  }
  return updates;
}

export function typesOf(updates: readonly Update[]): string[] {
  return updates.map((update) => update.type);
}
