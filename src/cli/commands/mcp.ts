import { VolleyError } from '../../core/errors.ts';
import type { McpOptions } from '../mcp/install.ts';
import type { ExitStatus } from '../output/io.ts';
import { defineCommand } from '../program/command.ts';

export const mcpCommand = defineCommand<McpOptions>({
  examples: [
    'volley mcp',
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
      .option('--yes', 'install: write without asking'),
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
    const { installMcp } = await import('../mcp/install.ts');
    return installMcp(client, options, io);
  },
});
