import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Io } from '../output/io.ts';

export type InstallScope = 'project' | 'user';

/** How a client starts Volley. */
export interface StartCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** A program that can use Volley, and its configuration. */
export interface McpClient {
  readonly name: string;
  readonly title: string;
  readonly format: 'json' | 'toml';
  /** The default. */
  readonly scope: InstallScope;
  file(scope: InstallScope, io: Io): string;
  /** The path of the entry, which may depend on the content. */
  path(content: unknown): readonly string[];
  entry(start: StartCommand, content: unknown): Readonly<Record<string, unknown>>;
  /** What the client still needs from the user before it calls Volley. */
  needs?(scope: InstallScope, io: Io): string;
  /** The other fields of a new file. */
  readonly begin?: Readonly<Record<string, unknown>>;
}

/** Batches may take this long by default. Clients with a shorter timeout are configured. */
const CALL_SECONDS = 600;

const IN_MCP_SERVERS = () => ['mcpServers', 'volley'];

const stdio = ({ command, args }: StartCommand) => ({ type: 'stdio', command, args });

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
    needs: (scope, io) =>
      [
        scope === 'project'
          ? `Codex reads this file only in a project that it trusts: start codex here once and trust it, or add [projects.${JSON.stringify(io.cwd)}] with trust_level = "trusted" to config.toml in your Codex folder.`
          : '',
        'Codex asks before it calls a tool that may change something. codex exec cannot ask, so it refuses the call. To allow the tools of Volley, add default_tools_approval_mode = "approve" under [mcp_servers.volley].',
      ]
        .filter((text) => text !== '')
        .join(' '),
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
    name: 'qwen',
    title: 'Qwen Code',
    format: 'json',
    scope: 'project',
    file: (scope, io) =>
      scope === 'project' ? join(io.cwd, '.qwen/settings.json') : inHome(io, '.qwen/settings.json'),
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

/** Whether the file is for opencode 2, in which servers have a table of their own. */
function hasServerTable(content: unknown): boolean {
  const { mcp } = (content ?? {}) as { mcp?: { servers?: unknown } };
  const { servers } = mcp ?? {};
  return typeof servers === 'object' && servers !== null && !Object.hasOwn(servers, 'type');
}

function inHome({ env }: Io, path: string): string {
  return join(env['HOME'] ?? homedir(), path);
}

/** The user's configuration of VS Code. */
function codeFolder(io: Io): string {
  if (process.platform === 'darwin') return inHome(io, 'Library/Application Support/Code/User');
  if (process.platform === 'win32')
    return join(io.env['APPDATA'] || inHome(io, 'AppData/Roaming'), 'Code/User');
  return join(io.env['XDG_CONFIG_HOME'] || inHome(io, '.config'), 'Code/User');
}
