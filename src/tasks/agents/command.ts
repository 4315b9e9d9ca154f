import type { AgentAdapter, AgentReader } from './adapter.ts';
import { textEvents } from './json-events.ts';

/** Any program: it gets the prompt on its standard input, and what it writes are its words. */
export function commandAdapter(argv: readonly [string, ...string[]]): AgentAdapter {
  return {
    name: 'command',
    command: async ({ prompt }) => ({ argv, env: {}, input: prompt }),
    reader: lineReader,
  };
}

/** How it ended is told by its exit status, so there is no result. */
function lineReader(): AgentReader {
  return { line: textEvents, end: () => [] };
}
