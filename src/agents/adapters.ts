import type { AgentAdapter } from './adapter.ts';
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

/** The agents known by name; `command` is any other program. */
export const ADAPTER_NAMES: readonly string[] = [...ADAPTERS.map(({ name }) => name), 'command'];

/** Undefined for unknown names and for `command`; use {@link commandAdapter} for that. */
export function adapterFor(name: string): AgentAdapter | undefined {
  return ADAPTERS.find((adapter) => adapter.name === name);
}

/** Any program that reads the prompt from standard input and prints text. Its exit status is its result. */
export function commandAdapter(argv: readonly [string, ...string[]]): AgentAdapter {
  return {
    name: 'command',
    command: async ({ prompt }) => ({ argv, env: {}, input: prompt }),
    reader: () => ({ line: textEvents, end: () => [] }),
  };
}
