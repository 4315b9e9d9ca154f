import type { VolleyConfig } from '../../config/config.ts';
import { type LoadedConfig, type LoadOptions, loadConfig } from '../../config/load.ts';
import { trustText } from '../../config/trust.ts';
import { VolleyError } from '../../core/errors.ts';
import { printableLine, printableText } from '../../core/printable-text.ts';
import { diagnose, type Layer } from '../../runners/process/diagnose.ts';
import { createColors, wantsColors } from '../output/colors.ts';
import { EXIT } from '../output/io.ts';
import { rewriteCommands } from '../output/wording.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';

export const doctorCommand = defineCommand<CommonOptions>({
  examples: ['volley doctor', 'volley doctor --json'],
  declare: () => undefined,
  run: async (_, { json, config: file }, io) => {
    const loaded = await tryConfig({ cwd: io.cwd, env: io.env, ...(file !== undefined && { file }) });
    const { layers } = await diagnose();
    const { error } = loaded;
    const { status: trusted, waiting } = loaded.config?.trust ?? { status: 'untrusted', waiting: [] };
    const open = openAttacks(loaded.config?.processes.sandbox ?? 'auto', layers);
    const status = error === undefined ? EXIT.ok : EXIT.usage;
    if (json) {
      const found = {
        node: process.version,
        config: loaded.file ?? null,
        trust: { status: trusted, waiting },
        layers,
        open_attacks: open,
      };
      const fault = error && {
        code: error.code,
        message: error.message,
        problems: error.details['problems'],
      };
      io.stdout.writeJson({ ok: error === undefined, ...found, error: fault });
      return status;
    }
    const { green, yellow, red, dim } = createColors(wantsColors(io.stdout, io.env));
    const line = (mark: string, name: string, text: string) =>
      io.stdout.writeStyled(`${mark} ${name.padEnd(14)} ${printableText(text)}\n`);
    line(green('✓'), 'node', process.version);
    if (error !== undefined) line(red('✗'), 'configuration', error.message.replace(/\n(?=.)/g, '\n  '));
    else line(green('✓'), 'configuration', loaded.file ?? 'no volley.toml here or above; using the defaults');
    if (loaded.config !== undefined && waiting.length > 0)
      line(
        yellow('–'),
        'trust',
        printableLine(rewriteCommands(trustText(loaded.config.trust), { config: file }, io)),
      );
    else if (trusted === 'trusted') line(green('✓'), 'trust', 'you approved what volley.toml can run');
    for (const { name, active, detail, remedy } of layers) {
      line(active ? green('✓') : yellow('–'), name, detail);
      if (remedy !== undefined) io.stdout.writeStyled(dim(`${' '.repeat(17)}${remedy}\n`));
    }
    for (const attack of open) line(red('✗'), 'open attack', attack);
    return status;
  },
});

const READS = 'commands and process tools can read all your files, including the tokens in .volley';
const WRITES = 'they can write your files outside the roots; Volley does not detect it';
const NETWORK = 'they can use the network, whatever the settings say';

/** What is possible without a sandbox. */
function openAttacks(mode: VolleyConfig['processes']['sandbox'], layers: readonly Layer[]): string[] {
  if (mode === 'off')
    return [
      READS,
      'they can change protected paths such as .git/hooks; Volley does not detect it',
      WRITES,
      NETWORK,
    ];
  const isActive = layers.some(({ name, active }) => name === 'namespaces' && active);
  // With "required", nothing runs without a sandbox.
  if (isActive || mode === 'required') return [];
  return [
    READS,
    'they can change protected paths such as .git/hooks; Volley detects it when the call ends, fails the call and quarantines new files',
    WRITES,
    NETWORK,
  ];
}

/** Loads the configuration, or returns what is wrong with it. */
async function tryConfig(
  options: LoadOptions,
): Promise<Partial<Pick<LoadedConfig, 'file' | 'config'>> & { readonly error?: VolleyError }> {
  try {
    return await loadConfig(options);
  } catch (error) {
    if (!(error instanceof VolleyError && error.code === 'INVALID_CONFIG')) throw error;
    return { file: error.details['file'] as string | undefined, error };
  }
}
