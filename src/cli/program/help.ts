import { type Command, Help, type HelpConfiguration } from 'commander';
import type { Io } from '../output/io.ts';
import { rewriteCommands } from '../output/wording.ts';

const DEFAULT_COLUMNS = 80;
/** With less room, descriptions go below the terms. */
const MIN_DESCRIPTION_WIDTH = 24;
const DESCRIPTION_INDENT = 6;

/** Makes a command write its help to our output, at its width. An unknown width is 0. */
export function writeHelpTo(program: Command, io: Pick<Io, 'stdout' | 'env'>): Command {
  const { stdout } = io;
  return program.configureHelp(HELP_FORMAT).configureOutput({
    writeOut: (text) => void stdout.write(rewriteCommands(text, {}, io)),
    getOutHelpWidth: () => stdout.columns || DEFAULT_COLUMNS,
  });
}

/** Adds lines after the help. List items are indented after their dash. */
export function addHelpNote(program: Command, note: string): Command {
  return program.addHelpText('after', ({ command }) => {
    const help = command.createHelp();
    const columns = command.configureOutput().getOutHelpWidth?.() ?? DEFAULT_COLUMNS;
    const lines = note.split('\n').map((line) => hanging(help, line, columns, line.startsWith('- ') ? 2 : 0));
    return `\n${lines.join('\n')}`;
  });
}

/** Breaks no word, however narrow the terminal. */
const HELP_FORMAT: HelpConfiguration = {
  minWidthToWrap: 1,
  formatItem(this: Help, term: string, termWidth: number, description: string, helper: Help): string {
    const columns = this.helpWidth ?? DEFAULT_COLUMNS;
    // Two columns before the term, and two after it.
    const isBeside = description === '' || columns - termWidth - 4 >= MIN_DESCRIPTION_WIDTH;
    if (isBeside) return Help.prototype.formatItem.call(this, term, termWidth, description, helper);
    return `  ${term}\n${' '.repeat(DESCRIPTION_INDENT)}${hanging(helper, description, columns, DESCRIPTION_INDENT)}`;
  },
};

function hanging(help: Help, text: string, columns: number, indent: number): string {
  return help.boxWrap(text, columns - indent).replaceAll('\n', `\n${' '.repeat(indent)}`);
}
