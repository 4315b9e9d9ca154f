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
    'volley mcp login tickets',
  ],
  declare: (program) =>
    program
      .argument(
        '[action]',
        '"install" to configure a client, "login" or "logout" at a server of volley.toml; without it, serve the client that started this process',
      )
      .argument(
        '[name]',
        'install: claude-code, codex, gemini, qwen, opencode, cursor or vscode; login: a server',
      )
      .option('--scope <where>', 'install for this "project" or for the "user"')
      .option('--print', 'install: show the entry without writing it')
      .option('--yes', 'install: write without asking'),
  run: async ([action, name], options, io): Promise<ExitStatus> => {
    if (action === undefined) {
      const { serveMcp } = await import('../mcp/serve-mcp.ts');
      return serveMcp(options, io);
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
