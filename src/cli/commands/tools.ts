import { openCoordinator } from '../../coordinator/open-coordinator.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { EXIT } from '../io.ts';

interface ToolsOptions extends CommonOptions {
  readonly schema?: boolean;
}

export const toolsCommand = defineCommand<ToolsOptions>({
  name: 'tools',
  summary: 'what can be called',
  examples: ['volley tools', "volley tools 'read_*' --schema"],
  declare: (program) =>
    program
      .argument('[glob]', 'only names that match')
      .option('--schema', 'also what each takes, as JSON Schema'),
  run: async ([glob], { json, schema, config }, io) => {
    const { cwd, env } = io;
    const coordinator = await openCoordinator({ cwd, env, ...(config !== undefined && { file: config }) });
    const tools = coordinator.tools(glob);
    await coordinator.close();
    if (json) io.stdout.write(`${JSON.stringify(tools)}\n`);
    else {
      const width = Math.max(0, ...tools.map(({ name }) => name.length));
      for (const { name, description, inputSchema } of tools) {
        io.stdout.write(`${name.padEnd(width)}  ${description}\n`);
        if (schema) io.stdout.write(`${JSON.stringify(inputSchema, null, 2).replace(/^/gm, '    ')}\n`);
      }
    }
    return tools.length === 0 ? EXIT.usage : EXIT.ok;
  },
});
