import { type Command, Help, type HelpConfiguration } from 'commander';
import type { Io } from './io.ts';
import { ownCommands } from './output/own-name.ts';

const DEFAULT_COLUMNS = 80;
/** With less room beside it, what a term means stands below it. */
const NARROWEST = 24;
const BELOW = 6;

/** Lets a command write its help to where it is told to, as wide as that is; a terminal that does not know says 0. */
export function writeHelpTo(program: Command, io: Pick<Io, 'stdout' | 'env'>): Command {
  const { stdout } = io;
  return program.configureHelp(HELP_FORMAT).configureOutput({
    writeOut: (text) => void stdout.write(ownCommands(text, {}, io)),
    getOutHelpWidth: () => stdout.columns || DEFAULT_COLUMNS,
  });
}

/** Adds lines below the help; those of a list hang from their dashes. */
export function addHelpNote(program: Command, note: string): Command {
  return program.addHelpText('after', ({ command }) => {
    const help = command.createHelp();
    const columns = command.configureOutput().getOutHelpWidth?.() ?? DEFAULT_COLUMNS;
    const lines = note.split('\n').map((line) => hanging(help, line, columns, line.startsWith('- ') ? 2 : 0));
    return `\n${lines.join('\n')}`;
  });
}

/** Help that breaks no word, however narrow the terminal is. */
const HELP_FORMAT: HelpConfiguration = {
  minWidthToWrap: 1,
  formatItem(this: Help, term: string, termWidth: number, description: string, helper: Help): string {
    const columns = this.helpWidth ?? DEFAULT_COLUMNS;
    // Two columns stand before a term, and two behind it.
    const isBeside = description === '' || columns - termWidth - 4 >= NARROWEST;
    if (isBeside) return Help.prototype.formatItem.call(this, term, termWidth, description, helper);
    return `  ${term}\n${' '.repeat(BELOW)}${hanging(helper, description, columns, BELOW)}`;
  },
};

function hanging(help: Help, text: string, columns: number, indent: number): string {
  return help.boxWrap(text, columns - indent).replaceAll('\n', `\n${' '.repeat(indent)}`);
}
