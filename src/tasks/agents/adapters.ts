import type { AgentAdapter, AgentReader } from './adapter.ts';
import { textEvents } from './agent-output.ts';
import { claudeAdapter } from './claude.ts';
import { codexAdapter } from './codex.ts';
import { geminiAdapter } from './gemini.ts';
import { opencodeAdapter } from './opencode.ts';
import { qwenAdapter } from './qwen.ts';

const ADAPTERS: readonly AgentAdapter[] = [
  claudeAdapter,
  codexAdapter,
  opencodeAdapter,
  geminiAdapter,
  qwenAdapter,
];

/** The agents that are known by name. Anything else is a `command`. */
export const ADAPTER_NAMES: readonly string[] = [...ADAPTERS.map(({ name }) => name), 'command'];

/** Undefined for what is not known, and for `command`, which `commandAdapter()` makes of its command. */
export function adapterFor(name: string): AgentAdapter | undefined {
  return ADAPTERS.find((adapter) => adapter.name === name);
}

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
