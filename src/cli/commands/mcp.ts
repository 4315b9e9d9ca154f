import { InvalidArgumentError } from 'commander';
import { VolleyError } from '../../core/errors.ts';
import type { McpOptions } from '../mcp/install.ts';
import type { McpServeOptions } from '../mcp/serve-mcp.ts';
import type { ExitStatus } from '../output/io.ts';
import { defineCommand } from '../program/command.ts';

const PROFILES = ['default', 'small'] as const;

export const mcpCommand = defineCommand<McpOptions & McpServeOptions>({
  examples: [
    'volley mcp',
    'volley mcp --profile small',
    'volley mcp install claude-code',
    'volley mcp install codex --print',
    'volley mcp install cursor --scope user --yes',
    'volley mcp login tickets',
  ],
  declare: (program) =>
    program
      .argument(
        '[action]',
        '"install" to configure a client, "login" or "logout" for a server in volley.toml; if omitted, serve the client that started this process',
      )
      .argument(
        '[name]',
        'install: claude-code, codex, gemini, qwen, opencode, cursor or vscode; login: a server',
      )
      .option('--scope <where>', 'install for this "project" or for the "user"')
      .option('--print', 'install: show the entry without writing it')
      .option('--yes', 'install: write without asking')
      .option(
        '--profile <name>',
        `the tools that the client sees: ${PROFILES.join(' or ')} (default: from volley.toml)`,
        profileOption,
      ),
  run: async ([action, name], options, io): Promise<ExitStatus> => {
    if (action === undefined) {
      const { serveMcp } = await import('../mcp/serve-mcp.ts');
      return serveMcp(options, io);
    }
    if (options.profile !== undefined) {
      throw new VolleyError(
        'INVALID_VALUE',
        '--profile is for volley mcp itself. Set profile under [mcp_server] in volley.toml, or add it to the arguments of the entry.',
      );
    }
    switch (action) {
      case 'install': {
        const { installMcp } = await import('../mcp/install.ts');
        return installMcp(name, options, io);
      }
      case 'login': {
        const { logInAtServer } = await import('../mcp/login.ts');
        return logInAtServer(name, options, io);
      }
      case 'logout': {
        const { logOutFromServer } = await import('../mcp/login.ts');
        return logOutFromServer(name, options, io);
      }
    }
    throw new VolleyError(
      'INVALID_VALUE',
      `Unknown command volley mcp ${action}. Use volley mcp, volley mcp install CLIENT, volley mcp login SERVER or volley mcp logout SERVER.`,
    );
  },
});

function profileOption(text: string): (typeof PROFILES)[number] {
  const profile = PROFILES.find((one) => one === text);
  if (profile !== undefined) return profile;
  throw new InvalidArgumentError(`Must be one of ${PROFILES.join(', ')}.`);
}
