import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ToolCall } from '../model-server/script.ts';

/** A command-line agent from npm, and how it is made to use our model instead of its own. */
export interface RealAgent {
  /** The name of its adapter, and of its program. */
  readonly name: string;
  readonly packageName: string;
  /** The newest that runs on Node 20. */
  readonly version: string;
  /** Writes its configuration into a home, and answers with its environment. */
  setUp(home: string, modelUrl: string): Readonly<Record<string, string>>;
  /** What its model asks for to have a file written. */
  writeCall(path: string, content: string): ToolCall;
  /** The same for a command of the shell. */
  shellCall(command: string): ToolCall;
  /** Whether it can be told which paths and commands are not for it. */
  readonly keepsRules: boolean;
  /** Whether it waits by itself until a limit of its model resets, and says nothing of it. */
  readonly waitsForLimits: boolean;
  /** How it is asked something with the tools of Volley allowed, and the name that `volley mcp install` has for it. */
  readonly mcp?: {
    readonly client: string;
    readonly argv: readonly string[];
    /** Sets it up for a server over HTTP. Returns further arguments. */
    readonly overHttp?: (project: string, url: string, token: string) => readonly string[];
  };
}

const codex: RealAgent = {
  name: 'codex',
  packageName: '@openai/codex',
  version: '0.166.0',
  setUp: (home, modelUrl) => {
    const config = [
      'model = "gpt-5"',
      'model_provider = "loopback"',
      'check_for_update_on_startup = false',
      '[model_providers.loopback]',
      'name = "loopback"',
      `base_url = "${modelUrl}/v1"`,
      'wire_api = "responses"',
      '[analytics]',
      'enabled = false',
      // Its sandbox would put an empty .git into /tmp for a moment, which then seems to be the repository of other tests.
      '[sandbox_workspace_write]',
      'exclude_slash_tmp = true',
    ];
    write(join(home, '.codex/config.toml'), `${config.join('\n')}\n`);
    return {};
  },
  writeCall: (path, content) => ({
    name: 'exec_command',
    arguments: { cmd: `printf %s '${content}' > '${path}'` },
  }),
  shellCall: (command) => ({ name: 'exec_command', arguments: { cmd: command } }),
  keepsRules: false,
  waitsForLimits: false,
  // Without a person to approve calls it makes only those that are approved beforehand.
  mcp: {
    client: 'codex',
    argv: [
      'codex',
      'exec',
      '--json',
      '--skip-git-repo-check',
      '--config',
      'mcp_servers.volley.default_tools_approval_mode="approve"',
      // Ten seconds for a start may not be enough on a busy machine.
      '--config',
      'mcp_servers.volley.startup_timeout_sec=120',
      '-',
    ],
    overHttp: (_, url, token) => [
      ...['--config', `mcp_servers.volley.url="${url}"`],
      ...['--config', `mcp_servers.volley.http_headers={ Authorization = "Bearer ${token}" }`],
    ],
  },
};

const opencode: RealAgent = {
  name: 'opencode',
  packageName: 'opencode-ai',
  version: '1.18.33',
  setUp: (home, modelUrl) => {
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      name: 'loopback',
      options: { baseURL: `${modelUrl}/v1`, apiKey: 'none' },
      models: { scripted: { name: 'scripted', cost: { input: 1, output: 2 } } },
    };
    const config = {
      model: 'loopback/scripted',
      small_model: 'loopback/scripted',
      provider: { loopback: provider },
    };
    write(join(home, '.config/opencode/opencode.json'), JSON.stringify(config));
    return { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' };
  },
  writeCall: (path, content) => ({ name: 'write', arguments: { filePath: path, content } }),
  shellCall: (command) => ({ name: 'bash', arguments: { command, description: 'a command' } }),
  keepsRules: true,
  waitsForLimits: true,
  mcp: {
    client: 'opencode',
    argv: ['opencode', 'run', '--format', 'json'],
    overHttp: (project, url, token) => {
      const volley = { type: 'remote', url, enabled: true, headers: { Authorization: `Bearer ${token}` } };
      write(join(project, 'opencode.json'), JSON.stringify({ mcp: { volley } }));
      return [];
    },
  },
};

const gemini: RealAgent = {
  name: 'gemini',
  packageName: '@google/gemini-cli',
  version: '0.61.0',
  setUp: (home, modelUrl) => {
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
      general: { enableAutoUpdate: false },
    };
    write(join(home, '.gemini/settings.json'), JSON.stringify(settings));
    return {
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_API_KEY: 'none',
      GOOGLE_GEMINI_BASE_URL: modelUrl,
      GEMINI_MODEL: 'gemini-2.5-flash',
    };
  },
  writeCall: (path, content) => ({ name: 'write_file', arguments: { file_path: path, content } }),
  shellCall: (command) => ({ name: 'run_shell_command', arguments: { command, is_background: false } }),
  keepsRules: true,
  waitsForLimits: false,
  mcp: {
    client: 'gemini',
    argv: ['gemini', '--prompt', '', '--output-format', 'stream-json', '--approval-mode', 'yolo'],
    overHttp: settingsOverHttp('.gemini'),
  },
};

const qwen: RealAgent = {
  name: 'qwen',
  packageName: '@qwen-code/qwen-code',
  version: '0.15.10',
  setUp: (home, modelUrl) => {
    const settings = {
      security: { auth: { selectedType: 'openai' } },
      privacy: { usageStatisticsEnabled: false },
      general: { disableAutoUpdate: true },
    };
    write(join(home, '.qwen/settings.json'), JSON.stringify(settings));
    return { OPENAI_API_KEY: 'none', OPENAI_BASE_URL: `${modelUrl}/v1`, OPENAI_MODEL: 'scripted' };
  },
  writeCall: (path, content) => ({ name: 'write_file', arguments: { file_path: path, content } }),
  shellCall: (command) => ({ name: 'run_shell_command', arguments: { command, is_background: false } }),
  keepsRules: true,
  waitsForLimits: true,
  mcp: {
    client: 'qwen',
    argv: ['qwen', '--output-format', 'stream-json', '--approval-mode', 'yolo'],
    overHttp: settingsOverHttp('.qwen'),
  },
};

const claude: RealAgent = {
  name: 'claude',
  packageName: '@anthropic-ai/claude-code',
  version: '2.1.197',
  setUp: (_, modelUrl) => ({
    ANTHROPIC_API_KEY: 'none',
    ANTHROPIC_BASE_URL: modelUrl,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    MCP_TIMEOUT: '120000',
  }),
  writeCall: (path, content) => ({ name: 'Write', arguments: { file_path: path, content } }),
  shellCall: (command) => ({ name: 'Bash', arguments: { command } }),
  keepsRules: true,
  waitsForLimits: false,
  mcp: {
    client: 'claude-code',
    argv: [
      'claude',
      '--print',
      '--output-format',
      'stream-json',
      '--verbose',
      '--allowedTools',
      'mcp__volley',
      'Bash',
    ],
    overHttp: (project, url, token) => {
      const volley = { type: 'http', url, headers: { Authorization: `Bearer ${token}` } };
      write(join(project, '.mcp.json'), JSON.stringify({ mcpServers: { volley } }));
      return [];
    },
  },
};

export const REAL_AGENTS: readonly RealAgent[] = [codex, opencode, gemini, qwen, claude];

/** Qwen has the settings of Gemini, in a folder of its own. */
function settingsOverHttp(folder: string): NonNullable<NonNullable<RealAgent['mcp']>['overHttp']> {
  return (project, url, token) => {
    const volley = { httpUrl: url, headers: { Authorization: `Bearer ${token}` } };
    write(join(project, folder, 'settings.json'), JSON.stringify({ mcpServers: { volley } }));
    return [];
  };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
