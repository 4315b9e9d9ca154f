import { VolleyError } from '../../core/errors.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import type { ExitStatus } from '../io.ts';

export interface McpOptions extends CommonOptions {
  readonly print?: boolean;
  readonly yes?: boolean;
  readonly scope?: string;
}

export const mcpCommand = defineCommand<McpOptions>({
  examples: [
    'volley mcp',
    'volley mcp install claude-code',
    'volley mcp install codex --print',
    'volley mcp install cursor --scope user --yes',
  ],
  declare: (program) =>
    program
      .argument('[action]', 'nothing: serve the client that started it; "install": write its configuration')
      .argument('[client]', 'with install: claude-code, codex, gemini, opencode, cursor or vscode')
      .option('--scope <where>', 'with install: "project" (this folder) or "user"')
      .option('--print', 'with install: show the entry, and write nothing')
      .option('--yes', 'with install: do not ask'),
  run: async ([action, client], options, io): Promise<ExitStatus> => {
    if (action === undefined) {
      const { serveMcp } = await import('../mcp/serve-mcp.ts');
      return serveMcp(options, io);
    }
    if (action !== 'install') {
      throw new VolleyError(
        'INVALID_VALUE',
        `There is no command volley mcp ${action}: use "volley mcp" or "volley mcp install CLIENT".`,
      );
    }
    const { installMcp } = await import('../mcp/install-mcp.ts');
    return installMcp(client, options, io);
  },
});
