import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import type { AgentAdapter, AgentEvent, AgentReader, AgentTask } from './adapter.ts';
import {
  asCount,
  asFields,
  asString,
  errorText,
  type JsonFields,
  jsonReader,
  shownText,
  textEvents,
  toolEvent,
} from './agent-output.ts';
import { linkUserFiles, userHomePath, withVolleyCommands } from './user-settings.ts';

/** What of the user's folder an agent needs: the login, and how it is set up. */
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

/** Gemini CLI. Its documentation asks for a home of its own for each of several that run at once. */
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
        // What comes in on standard input is the prompt; this only says that nobody is there to talk to.
        '--prompt',
        '',
        '--output-format',
        'stream-json',
        '--approval-mode',
        task.allowedCommands === undefined ? 'yolo' : 'auto_edit',
        '--policy',
        policy,
        ...(task.model === undefined ? [] : ['--model', task.model]),
      ],
      // The folder is the user's choice, and need not be confirmed again: else what is configured in it would not count.
      env: { GEMINI_CLI_HOME: task.stateFolder, GEMINI_CLI_TRUST_WORKSPACE: 'true' },
      input: task.prompt,
    };
  },
  reader: geminiReader,
};

const EDITING_TOOLS = ['write_file', 'replace'];
/** Above the rules that a mode brings along. */
const ALLOWED = 500;
const DENIED = 900;
const PIECES = /\*\*\/|\*+|\?|[^*?]+/g;

/** The rules of Gemini CLI for what a task may touch and run. */
export function geminiPolicy({ cwd, deniedPaths, allowedCommands }: AgentTask): string {
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

/** A glob as it stands in JSON. Gemini CLI refuses groups that may be repeated or left out, as picomatch makes them. */
function pathPattern(glob: string): string {
  const piece = (text: string): string => {
    if (text === '**/') return '(|[^"]*/)';
    if (text.startsWith('**')) return '[^"]*';
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

const MAX_KEPT = 16_000;

/** Reads `gemini --output-format stream-json`. Its messages come in pieces, which are put together. */
export function geminiReader(): AgentReader {
  let pieces = '';
  let lastWord = '';
  const spoken = (): readonly AgentEvent[] => {
    const events = textEvents(pieces);
    if (events.length > 0) lastWord = shownText(pieces);
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
  const ok = fields['status'] === 'success';
  const text = ok ? lastWord : errorText(asFields(fields['error'])['message']) || lastWord;
  return { type: 'result', ok, text };
}
