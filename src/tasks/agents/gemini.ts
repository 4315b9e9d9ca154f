import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentAdapter } from './adapter.ts';
import { geminiPolicy } from './gemini-policy.ts';
import { geminiReader } from './gemini-reader.ts';
import { linkInto, userFolder } from './own-state.ts';

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
    await linkInto(folder, home ? join(home, '.gemini') : userFolder(task.env, '.gemini'), USERS);
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
