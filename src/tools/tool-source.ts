import { MAX_SPAN_MS } from '../core/numbers.ts';
import type { Tool } from './tool.ts';

/** Tools that become known only when somebody else tells of them, all under one first name: `files` of `files.read`. */
export interface ToolSource {
  /** The first part of the names. */
  readonly name: string;
  /** What stands for a tool until the tools are known; undefined where they are. */
  standIn(toolName: string): Tool | undefined;
  /** Asks for the tools and waits for the answer. Never fails: what went wrong is said to whoever calls one. */
  discover(): Promise<void>;
  /** Ends everything that was begun for it. */
  close(): Promise<void>;
}

/** The first part of a name: `files` of `files.read`. */
export function sourceNameOf(toolName: string): string {
  return toolName.split('.', 1)[0]!;
}

/** Asks several at once, and waits for all of them, for so long at most. */
export async function discoverAll(sources: readonly ToolSource[], limitMs = MAX_SPAN_MS): Promise<void> {
  if (sources.length === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([Promise.all(sources.map((source) => source.discover())), late]);
  clearTimeout(timer);
}
