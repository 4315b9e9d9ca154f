import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentAdapter, AgentTask } from './adapter.ts';
import { messagesReader } from './messages-reader.ts';
import { withOwnCommands } from './own-commands.ts';
import { linkInto, userFolder } from './own-state.ts';

/** Where one of these is set no login of the user's is needed. */
const KEYS = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
];
const SETTINGS = ['settings.json', 'CLAUDE.md', 'agents', 'commands', 'skills', 'plugins'];
const EDITING = ['Edit', 'Write', 'NotebookEdit', 'Read', 'Glob', 'Grep'];

/** Claude Code does without asking what the rules allow, and without a person to ask it leaves all else. */
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
      '--allowedTools',
      ...EDITING,
      ...shellRules(task.allowedCommands),
      ...(task.deniedPaths.length === 0 ? [] : ['--disallowedTools']),
      ...task.deniedPaths.map((path) => `Edit(${path})`),
    ],
    env: await ownFolder(task),
    input: task.prompt,
  }),
  reader: messagesReader,
};

function shellRules(allowed: readonly string[] | undefined): readonly string[] {
  return allowed === undefined ? ['Bash'] : withOwnCommands(allowed).map((command) => `Bash(${command}:*)`);
}

/**
 * Several that write to one `.claude.json` have been seen to destroy it. Where a key in the environment stands for the
 * login each gets a folder of its own, and a copy of that file. A login itself cannot be shared between folders: it is
 * renewed under a lock in the folder, and renewed twice at once it is lost. Then the user's own folder is used.
 */
async function ownFolder({ env, stateFolder }: AgentTask): Promise<Record<string, string>> {
  if (!KEYS.some((name) => env[name])) return {};
  const configured = env['CLAUDE_CONFIG_DIR'];
  await linkInto(stateFolder, configured || userFolder(env, '.claude'), SETTINGS);
  const state = configured ? join(configured, '.claude.json') : userFolder(env, '.claude.json');
  await copyFile(state, join(stateFolder, '.claude.json')).catch(() => undefined);
  return { CLAUDE_CONFIG_DIR: stateFolder };
}
