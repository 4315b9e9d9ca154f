import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Io } from '../../io.ts';

export type InstallScope = 'project' | 'user';

/** The program and its arguments, as a client shall start it. */
export interface StartCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** A program that can use Volley, and where it is told so. */
export interface McpClient {
  readonly name: string;
  readonly title: string;
  readonly format: 'json' | 'toml';
  /** Where nothing else is said. */
  readonly scope: InstallScope;
  file(scope: InstallScope, io: Io): string;
  /** Where the entry stands in the file, by what is in it already. */
  path(content: unknown): readonly string[];
  entry(start: StartCommand, content: unknown): Readonly<Record<string, unknown>>;
  /** What a file that does not exist yet begins with. */
  readonly begin?: Readonly<Record<string, unknown>>;
}

/** A batch may take so long by default; clients that give up sooner by themselves are told. */
const CALL_SECONDS = 600;

const IN_MCP_SERVERS = () => ['mcpServers', 'volley'];

const stdio = ({ command, args }: StartCommand) => ({ type: 'stdio', command, args });

/** In the order in which they are listed. */
export const MCP_CLIENTS: readonly McpClient[] = [
  {
    name: 'claude-code',
    title: 'Claude Code',
    format: 'json',
    scope: 'project',
    file: (scope, io) => (scope === 'project' ? join(io.cwd, '.mcp.json') : inHome(io, '.claude.json')),
    path: IN_MCP_SERVERS,
    entry: stdio,
  },
  {
    name: 'codex',
    title: 'Codex',
    format: 'toml',
    scope: 'user',
    file: (scope, io) =>
      join(
        scope === 'project' ? join(io.cwd, '.codex') : io.env['CODEX_HOME'] || inHome(io, '.codex'),
        'config.toml',
      ),
    path: () => ['mcp_servers', 'volley'],
    entry: ({ command, args }) => ({
      command,
      args,
      startup_timeout_sec: 30,
      tool_timeout_sec: CALL_SECONDS,
    }),
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    format: 'json',
    scope: 'project',
    file: (scope, io) =>
      scope === 'project' ? join(io.cwd, '.gemini/settings.json') : inHome(io, '.gemini/settings.json'),
    path: IN_MCP_SERVERS,
    entry: ({ command, args }) => ({ command, args, timeout: CALL_SECONDS * 1000 }),
  },
  {
    name: 'opencode',
    title: 'opencode',
    format: 'json',
    scope: 'project',
    file: (scope, io) => {
      const folder =
        scope === 'project' ? io.cwd : join(io.env['XDG_CONFIG_HOME'] || inHome(io, '.config'), 'opencode');
      const commented = join(folder, 'opencode.jsonc');
      return existsSync(commented) ? commented : join(folder, 'opencode.json');
    },
    path: (content) => (hasServerTable(content) ? ['mcp', 'servers', 'volley'] : ['mcp', 'volley']),
    entry: ({ command, args }, content) => ({
      type: 'local',
      command: [command, ...args],
      ...(hasServerTable(content)
        ? { timeout: { request: CALL_SECONDS * 1000 } }
        : { enabled: true, timeout: CALL_SECONDS * 1000 }),
    }),
    begin: { $schema: 'https://opencode.ai/config.json' },
  },
  {
    name: 'cursor',
    title: 'Cursor',
    format: 'json',
    scope: 'project',
    file: (scope, io) =>
      scope === 'project' ? join(io.cwd, '.cursor/mcp.json') : inHome(io, '.cursor/mcp.json'),
    path: IN_MCP_SERVERS,
    entry: stdio,
  },
  {
    name: 'vscode',
    title: 'VS Code',
    format: 'json',
    scope: 'project',
    file: (scope, io) =>
      scope === 'project' ? join(io.cwd, '.vscode/mcp.json') : join(codeFolder(io), 'mcp.json'),
    path: () => ['servers', 'volley'],
    entry: stdio,
  },
];

/** Whether an opencode of version 2 reads the file: there servers have a table of their own. */
function hasServerTable(content: unknown): boolean {
  const { mcp } = (content ?? {}) as { mcp?: { servers?: unknown } };
  const { servers } = mcp ?? {};
  return typeof servers === 'object' && servers !== null && !Object.hasOwn(servers, 'type');
}

function inHome({ env }: Io, path: string): string {
  return join(env['HOME'] ?? homedir(), path);
}

/** Where VS Code keeps what belongs to the user. */
function codeFolder(io: Io): string {
  if (process.platform === 'darwin') return inHome(io, 'Library/Application Support/Code/User');
  if (process.platform === 'win32')
    return join(io.env['APPDATA'] || inHome(io, 'AppData/Roaming'), 'Code/User');
  return join(io.env['XDG_CONFIG_HOME'] || inHome(io, '.config'), 'Code/User');
}
