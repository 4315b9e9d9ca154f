import { type LoadOptions, loadConfig } from '../../config/load.ts';
import { VolleyError } from '../../core/errors.ts';
import { printableText } from '../../core/printable-text.ts';
import { diagnose } from '../../runners/process/diagnose-system.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { EXIT } from '../io.ts';
import { createColours, wantsColours } from '../output/colours.ts';

export const doctorCommand = defineCommand<CommonOptions>({
  examples: ['volley doctor', 'volley doctor --json'],
  declare: () => undefined,
  run: async (_, { json, config: file }, io) => {
    const config = await look({ cwd: io.cwd, env: io.env, ...(file !== undefined && { file }) });
    const { layers } = await diagnose();
    const { error } = config;
    const status = error === undefined ? EXIT.ok : EXIT.usage;
    if (json) {
      const found = { node: process.version, config: config.file ?? null, layers };
      const fault = error && {
        code: error.code,
        message: error.message,
        problems: error.details['problems'],
      };
      io.stdout.writeJson({ ok: error === undefined, ...found, error: fault });
      return status;
    }
    const { green, yellow, red, dim } = createColours(wantsColours(io.stdout, io.env));
    const line = (mark: string, name: string, text: string) =>
      io.stdout.writeStyled(`${mark} ${name.padEnd(14)} ${printableText(text)}\n`);
    line(green('✓'), 'node', process.version);
    if (error !== undefined) line(red('✗'), 'configuration', error.message.replace(/\n(?=.)/g, '\n  '));
    else line(green('✓'), 'configuration', config.file ?? 'no volley.toml here or above: the defaults hold');
    for (const { name, active, detail, remedy } of layers) {
      line(active ? green('✓') : yellow('–'), name, detail);
      if (remedy !== undefined) io.stdout.writeStyled(dim(`${' '.repeat(17)}${remedy}\n`));
    }
    return status;
  },
});

/** Which file holds, or what is wrong with it: the rest can be looked at all the same. */
async function look(
  options: LoadOptions,
): Promise<{ readonly file?: string | undefined; readonly error?: VolleyError }> {
  try {
    return { file: (await loadConfig(options)).file };
  } catch (error) {
    if (!(error instanceof VolleyError && error.code === 'INVALID_CONFIG')) throw error;
    return { file: error.details['file'] as string | undefined, error };
  }
}
