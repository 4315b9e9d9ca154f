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
  ],
  declare: (program) =>
    program
      .argument(
        '[action]',
        '"install" to configure a client; without it, serve the client that started this process',
      )
      .argument('[client]', 'claude-code, codex, gemini, opencode, cursor or vscode')
      .option('--scope <where>', 'install for this "project" or for the "user"')
      .option('--print', 'install: show the entry without writing it')
      .option('--yes', 'install: write without asking')
      .option(
        '--profile <name>',
        `the tools that the client sees: ${PROFILES.join(' or ')} (default: of volley.toml)`,
        profileOption,
      ),
  run: async ([action, client], options, io): Promise<ExitStatus> => {
    if (action === undefined) {
      const { serveMcp } = await import('../mcp/serve-mcp.ts');
      return serveMcp(options, io);
    }
    if (action !== 'install') {
      throw new VolleyError(
        'INVALID_VALUE',
        `Unknown command volley mcp ${action}. Use volley mcp, or volley mcp install CLIENT.`,
      );
    }
    if (options.profile !== undefined) {
      throw new VolleyError(
        'INVALID_VALUE',
        '--profile is for volley mcp itself. Set profile under [mcp_server] in volley.toml, or add it to the arguments of the entry.',
      );
    }
    const { installMcp } = await import('../mcp/install.ts');
    return installMcp(client, options, io);
  },
});

function profileOption(text: string): (typeof PROFILES)[number] {
  const profile = PROFILES.find((one) => one === text);
  if (profile !== undefined) return profile;
  throw new InvalidArgumentError(`Must be one of ${PROFILES.join(', ')}.`);
}
