import { MAX_SPAN_MS } from '../core/numbers.ts';
import type { Tool } from './tool.ts';

/** Tools that are discovered later, with a common prefix: `files` of `files.read`. */
export interface ToolSource {
  /** The prefix of the names. */
  readonly name: string;
  /** The placeholder for a tool until the tools are known; undefined afterwards. */
  placeholder(toolName: string): Tool | undefined;
  /** Discovers the tools. Never rejects: calls of a tool report what went wrong. */
  discover(): Promise<void>;
  /** Releases everything it started. */
  close(): Promise<void>;
}

/** The prefix of a name: `files` of `files.read`. */
export function sourceNameOf(toolName: string): string {
  return toolName.split('.', 1)[0]!;
}

/** Discovers the tools of several sources at once, with a time limit. */
export async function discoverAll(sources: readonly ToolSource[], limitMs = MAX_SPAN_MS): Promise<void> {
  if (sources.length === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([Promise.all(sources.map((source) => source.discover())), late]);
  clearTimeout(timer);
}
