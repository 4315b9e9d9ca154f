import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import type { AgentAdapter, AgentEvent, AgentReader, AgentTask } from './adapter.ts';
import {
  answerText,
  asCount,
  asFields,
  asString,
  errorText,
  type JsonFields,
  jsonReader,
  outputEvent,
  textEvents,
  toolEvent,
} from './agent-output.ts';
import { linkUserFiles, userHomePath, withVolleyCommands } from './user-settings.ts';

/** The files of the user's folder that an agent needs: login and settings. */
const USERS = [
  'oauth_creds.json',
  'google_accounts.json',
  'gemini-credentials.json',
  'mcp-oauth-tokens.json',
  'installation_id',
  'settings.json',
  'trustedFolders.json',
  '.env',
  'GEMINI.md',
  'commands',
  'extensions',
  'policies',
  'skills',
];

/** Gemini CLI. Its documentation requires a separate home for each concurrent process. */
export const geminiAdapter: AgentAdapter = {
  name: 'gemini',
  command: async (task) => {
    const folder = join(task.stateFolder, '.gemini');
    const policy = join(task.stateFolder, 'volley.toml');
    const home = task.env['GEMINI_CLI_HOME'];
    await mkdir(folder, { recursive: true });
    await linkUserFiles(folder, home ? join(home, '.gemini') : userHomePath(task.env, '.gemini'), USERS);
    await writeFile(policy, geminiPolicy(task));
    return {
      argv: [
        'gemini',
        // The prompt comes on standard input; this only selects non-interactive mode.
        '--prompt',
        '',
        '--output-format',
        'stream-json',
        '--approval-mode',
        approvalMode(task),
        '--policy',
        policy,
        ...(task.model === undefined ? [] : ['--model', task.model]),
      ],
      // The user chose the folder. Without this, Gemini would ignore its configuration.
      env: { GEMINI_CLI_HOME: task.stateFolder, GEMINI_CLI_TRUST_WORKSPACE: 'true' },
      input: task.prompt,
    };
  },
  reader: geminiReader,
};

/** By default, whatever needs confirmation is refused: nobody is there to give it. */
function approvalMode({ writes, allowedCommands }: AgentTask): string {
  if (!writes) return 'default';
  return allowedCommands === undefined ? 'yolo' : 'auto_edit';
}

const EDITING_TOOLS = ['write_file', 'replace'];
/** Priorities above the built-in rules of the approval modes. */
const ALLOWED = 500;
const DENIED = 900;
const PIECES = /\*\*\/|\*+|\?|[^*?]+/g;

/** The Gemini CLI policy for the paths and commands of a task. */
function geminiPolicy({ cwd, writes, deniedPaths, allowedCommands }: AgentTask): string {
  if (!writes)
    return stringify({
      rule: [{ toolName: [...EDITING_TOOLS, 'run_shell_command'], decision: 'deny', priority: DENIED }],
    });
  const denied = deniedPaths.map((glob) => ({
    toolName: EDITING_TOOLS,
    argsPattern: `"file_path":"(|\\./|${escaped(cwd)}/)${pathPattern(glob)}"`,
    decision: 'deny',
    priority: DENIED,
  }));
  const allowed = allowedCommands === undefined ? [] : withVolleyCommands(allowedCommands);
  const commands = allowed.map((command) => ({
    toolName: 'run_shell_command',
    commandPrefix: command,
    decision: 'allow',
    priority: ALLOWED,
  }));
  return stringify({ rule: [...denied, ...commands] });
}

/**
 * A glob as a pattern over JSON text. Gemini CLI rejects repeated or optional groups, which picomatch would produce. Leading
 * folders do not begin with a slash: otherwise the glob would also match the folders above `cwd` in an absolute path.
 */
function pathPattern(glob: string): string {
  const piece = (text: string): string => {
    if (text === '**/') return '(|[^"/][^"]*/)';
    if (text.startsWith('**')) return '(|[^"/][^"]*)';
    if (text === '*') return '[^"/]*';
    return text === '?' ? '[^"/]' : escaped(text);
  };
  return (glob.match(PIECES) ?? []).map(piece).join('');
}

function escaped(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

const MAX_KEPT = 256 * 1024;

/** Reads `gemini --output-format stream-json`, and joins messages that come in pieces. */
function geminiReader(): AgentReader {
  let pieces = '';
  let lastWord = '';
  const spoken = (): readonly AgentEvent[] => {
    const events = textEvents(pieces);
    if (events.length > 0) lastWord = answerText(pieces);
    pieces = '';
    return events;
  };

  return jsonReader((fields) => {
    switch (fields['type']) {
      case 'message':
        if (fields['role'] === 'assistant')
          pieces = `${pieces}${asString(fields['content'])}`.slice(-MAX_KEPT);
        return [];
      case 'tool_use':
        return [...spoken(), toolEvent(fields['tool_name'], fields['parameters'])];
      case 'tool_result': {
        const ok = fields['status'] !== 'error';
        return [...spoken(), outputEvent(ok ? fields['output'] : asFields(fields['error'])['message'], ok)];
      }
      case 'error':
        return [...spoken(), ...textEvents(fields['message'])];
      case 'result': {
        const events = spoken();
        return [...events, usageOf(asFields(fields['stats'])), resultOf(fields, lastWord)];
      }
      default:
        return [];
    }
  }, spoken);
}

function usageOf(stats: JsonFields): AgentEvent {
  return {
    type: 'usage',
    inputTokens: asCount(stats['input_tokens']),
    outputTokens: asCount(stats['output_tokens']),
  };
}

function resultOf(fields: JsonFields, lastWord: string): AgentEvent {
  if (fields['status'] === 'success') return { type: 'result', ok: true, text: lastWord };
  const text = errorText(asFields(fields['error'])['message']);
  return text === ''
    ? { type: 'result', ok: false, text: lastWord, isProse: true }
    : { type: 'result', ok: false, text };
}
