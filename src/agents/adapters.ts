import type { AgentAdapter, AgentReader } from './adapter.ts';
import { answerText, textEvents } from './agent-output.ts';
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

/** Takes all that a program prints as its last message. */
export function wholeOutputReader(): AgentReader {
  let output = '';
  return {
    line: (text) => {
      if (output.length < MAX_OUTPUT_LENGTH) output += `${text}\n`;
      return textEvents(text);
    },
    end: () => [{ type: 'result', ok: true, text: answerText(output) }],
  };
}

const MAX_OUTPUT_LENGTH = 1024 * 1024;

/** Any program that reads the prompt from standard input and prints text. Its exit status is its result. */
export function commandAdapter(argv: readonly [string, ...string[]]): AgentAdapter {
  return {
    name: 'command',
    command: async ({ prompt }) => ({ argv, env: {}, input: prompt }),
    reader: () => ({ line: textEvents, end: () => [] }),
  };
}
