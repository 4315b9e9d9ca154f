import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentAdapter, AgentEvent, AgentReader, AgentTask, AgentUsage } from './adapter.ts';
import {
  answerText,
  asCount,
  asFieldList,
  asFields,
  asString,
  type JsonFields,
  jsonReader,
  outputEvent,
  textEvents,
  toolEvent,
} from './agent-output.ts';
import { linkUserFiles, userHomePath, withVolleyCommands } from './user-settings.ts';

/** With any of these set, the user's login is not needed. */
const KEYS = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
];
const SETTINGS = ['settings.json', 'CLAUDE.md', 'agents', 'commands', 'skills', 'plugins'];
const READING = ['Read', 'Glob', 'Grep'];
const EDITING = ['Edit', 'Write', 'NotebookEdit', ...READING];
/** The user's own settings may allow more, so what it may not do is said, too. */
const READ_ONLY = [
  '--allowedTools',
  ...READING,
  '--disallowedTools',
  'Edit',
  'Write',
  'NotebookEdit',
  'Bash',
];

/** Claude Code does what its rules allow without asking, and refuses everything else when unattended. */
export const claudeAdapter: AgentAdapter = {
  name: 'claude',
  command: async (task) => ({
    argv: [
      'claude',
      '--print',
      '--output-format',
      'stream-json',
      '--verbose',
      ...(task.model === undefined ? [] : ['--model', task.model]),
      ...(task.maxTurns === undefined ? [] : ['--max-turns', String(task.maxTurns)]),
      '--permission-mode',
      'dontAsk',
      ...(task.writes ? writingRules(task) : READ_ONLY),
    ],
    env: await ownFolder(task),
    input: task.prompt,
  }),
  reader: streamJsonReader,
};

function writingRules({ allowedCommands, deniedPaths }: AgentTask): readonly string[] {
  return [
    '--allowedTools',
    ...EDITING,
    ...shellRules(allowedCommands),
    ...(deniedPaths.length === 0 ? [] : ['--disallowedTools']),
    ...deniedPaths.map((path) => `Edit(${path})`),
  ];
}

function shellRules(allowed: readonly string[] | undefined): readonly string[] {
  return allowed === undefined
    ? ['Bash']
    : withVolleyCommands(allowed).map((command) => `Bash(${command}:*)`);
}

/**
 * Several processes that write to one `.claude.json` can corrupt it. If a key in the environment replaces the login, each
 * process gets its own folder and a copy of that file. Otherwise the user's folder is used: a login is renewed under a
 * lock in its folder, and two renewals at once would invalidate it.
 */
async function ownFolder({ env, stateFolder }: AgentTask): Promise<Record<string, string>> {
  if (!KEYS.some((name) => env[name])) return {};
  const configured = env['CLAUDE_CONFIG_DIR'];
  await linkUserFiles(stateFolder, configured || userHomePath(env, '.claude'), SETTINGS);
  const state = configured ? join(configured, '.claude.json') : userHomePath(env, '.claude.json');
  await copyFile(state, join(stateFolder, '.claude.json')).catch(() => undefined);
  return { CLAUDE_CONFIG_DIR: stateFolder };
}

/** Reads `--output-format stream-json` of Claude Code and Qwen Code. */
export function streamJsonReader(): AgentReader {
  /** A message may come in several parts, each with its total usage so far. */
  const byMessage = new Map<string, JsonFields>();

  return jsonReader((fields) => {
    switch (fields['type']) {
      case 'assistant': {
        const message = asFields(fields['message']);
        byMessage.set(asString(message['id']), asFields(message['usage']));
        return [...asFieldList(message['content']).flatMap(partEvents), usageEvent(sumOf(byMessage))];
      }
      case 'user':
        return asFieldList(asFields(fields['message'])['content'])
          .filter(({ type }) => type === 'tool_result')
          .map((part) => outputEvent(part['content'], part['is_error'] !== true));
      case 'result':
        return [usageEvent(totalOf(fields, sumOf(byMessage))), resultOf(fields)];
      default:
        return [];
    }
  });
}

function partEvents(part: JsonFields): readonly AgentEvent[] {
  if (part['type'] === 'text') return textEvents(part['text']);
  return part['type'] === 'tool_use' ? [toolEvent(part['name'], part['input'])] : [];
}

function usageEvent(usage: AgentUsage): AgentEvent {
  return { type: 'usage', ...usage };
}

function sumOf(byMessage: ReadonlyMap<string, JsonFields>): Required<Omit<AgentUsage, 'costUsd'>> {
  let inputTokens = 0;
  let outputTokens = 0;
  for (const usage of byMessage.values()) {
    inputTokens += inputOf(usage);
    outputTokens += asCount(usage['output_tokens']);
  }
  return { turns: byMessage.size, inputTokens, outputTokens };
}

/** Prefers the totals of the result over the sum of the messages. */
function totalOf(result: JsonFields, sum: ReturnType<typeof sumOf>): AgentUsage {
  const usage = asFields(result['usage']);
  const cost = result['total_cost_usd'];
  return {
    turns: asCount(result['num_turns']) || sum.turns,
    inputTokens: inputOf(usage) || sum.inputTokens,
    outputTokens: asCount(usage['output_tokens']) || sum.outputTokens,
    ...(typeof cost === 'number' ? { costUsd: asCount(cost) } : {}),
  };
}

/** `input_tokens` excludes cached tokens. */
function inputOf(usage: JsonFields): number {
  return (
    asCount(usage['input_tokens']) +
    asCount(usage['cache_creation_input_tokens']) +
    asCount(usage['cache_read_input_tokens'])
  );
}

function resultOf(fields: JsonFields): AgentEvent {
  const said = asString(fields['result']) || asString(asFields(fields['error'])['message']);
  // Qwen Code reports success when its model answers with an error.
  const isRefused = said.startsWith('[API Error:');
  const isGood = fields['is_error'] !== true && fields['subtype'] === 'success';
  const ok = isGood && !isRefused;
  const text = answerText(said || (ok ? '' : asString(fields['subtype'])));
  // A model can say the same words.
  return { type: 'result', ok, text, ...(isGood && isRefused && { isProse: true }) };
}
