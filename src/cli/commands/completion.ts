import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { printableLine, printableText } from '../../core/printable-text.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { completionsFor } from '../completion/candidates.ts';
import { COMPLETION_SCRIPTS } from '../completion/scripts.ts';
import { EXIT } from '../io.ts';

const SHELLS = Object.keys(COMPLETION_SCRIPTS);
/** Asked by the scripts: the words of the command line so far, of which the last is to be completed. */
const WORDS = 'words';

export const completionCommand = defineCommand<CommonOptions>({
  examples: [
    "echo 'source <(volley completion bash)' >> ~/.bashrc",
    "echo 'source <(volley completion zsh)' >> ~/.zshrc",
    'volley completion fish > ~/.config/fish/completions/volley.fish',
  ],
  declare: (program) =>
    program.argument('<shell>', SHELLS.join(', ')).argument('[words...]', 'what the script asks with'),
  run: async ([shell, ...words], options, io) => {
    if (shell === WORDS) {
      const found = await completionsFor(words, options, io);
      io.stdout.write(
        found
          .filter(({ word }) => isOneLine(word))
          .map(({ word, about }) => `${word}\t${printableLine(about)}\n`)
          .join(''),
      );
      return EXIT.ok;
    }
    const script = COMPLETION_SCRIPTS[shell!];
    if (script === undefined) throw unknownShell(shell!);
    if (options.json) io.stdout.writeJson({ ok: true, shell, script });
    else io.stdout.write(script);
    return EXIT.ok;
  },
});

function unknownShell(shell: string): VolleyError {
  const close = nearest(shell, SHELLS);
  return new VolleyError(
    'INVALID_VALUE',
    `There is no completion for ${JSON.stringify(shell)}${close === undefined ? '.' : `; did you mean ${close}?`} There are ${SHELLS.join(', ')}.`,
  );
}

/** A word that would be changed on its way to the shell would name something else. */
function isOneLine(word: string): boolean {
  return printableText(word) === word && !/[\n\t]/.test(word);
}
