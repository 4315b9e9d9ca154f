import { loadConfig } from '../../config/load.ts';
import { diagnose } from '../../runners/process/diagnose-system.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { EXIT } from '../io.ts';
import { createColours, wantsColours } from '../output/colours.ts';

export const doctorCommand = defineCommand<CommonOptions>({
  examples: ['volley doctor', 'volley doctor --json'],
  declare: () => undefined,
  run: async (_, { json, config: file }, io) => {
    const loaded = await loadConfig({ cwd: io.cwd, env: io.env, ...(file !== undefined && { file }) });
    const { layers } = await diagnose();
    if (json) {
      io.stdout.write(
        `${JSON.stringify({ ok: true, node: process.version, config: loaded.file ?? null, layers })}\n`,
      );
      return EXIT.ok;
    }
    const { green, yellow, dim } = createColours(wantsColours(io.stdout, io.env));
    const line = (mark: string, name: string, text: string) =>
      io.stdout.write(`${mark} ${name.padEnd(14)} ${text}\n`);
    line(green('✓'), 'node', process.version);
    line(green('✓'), 'configuration', loaded.file ?? 'no volley.toml here or above: the defaults hold');
    for (const { name, active, detail, remedy } of layers) {
      line(active ? green('✓') : yellow('–'), name, detail);
      if (remedy !== undefined) io.stdout.write(dim(`${' '.repeat(17)}${remedy}\n`));
    }
    return EXIT.ok;
  },
});
