import { Command } from 'commander';
import { SCOPES } from '../../batch/actions/define-action.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { printableLine, printableText } from '../../core/printable-text.ts';
import { PRIORITIES } from '../../core/priority.ts';
import { TASK_STATUSES } from '../../store/records.ts';
import { EXIT, type Io } from '../output/io.ts';
import { type CommandEntry, type CommonOptions, defineCommand } from '../program/command.ts';
import { declare } from '../program/program.ts';
import { chosenBatch } from '../session/ask.ts';
import { withSession, withStore } from '../session/session.ts';
import { COMMANDS } from './all.ts';
import { TASKS_COMMANDS } from './tasks/all.ts';

/**
 * The scripts ask Volley for candidates, which it prints as lines: the word, a tab, and a description. Without any, the
 * shell completes a file name.
 */
const BASH = `# Completion of volley for bash: source <(volley completion bash)
_volley() {
  local word about current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS=$'\\t' read -r word about; do
    # Quoted, so that nothing in a name is executed.
    if [[ "$word" == "$current"* ]]; then COMPREPLY+=("$(printf '%q' "$word")"); fi
  done < <(volley completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _volley volley
`;

const ZSH = `#compdef volley
# Completion of volley for zsh: source <(volley completion zsh)
_volley() {
  local line
  local -a found
  for line in "\${(@f)$(volley completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n "$line" ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe volley found; else _files; fi
}
compdef _volley volley
`;

const FISH = `# Completion of volley for fish: volley completion fish > ~/.config/fish/completions/volley.fish
function __volley_words
  set -l typed (commandline -opc) (commandline -ct)
  volley completion words -- $typed[2..-1] 2>/dev/null
end
complete -c volley -a '(__volley_words)'
`;

const COMPLETION_SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

const SHELLS = Object.keys(COMPLETION_SCRIPTS);
/** What the scripts call, with the words of the command line; the last is to be completed. */
const WORDS = 'words';

export const completionCommand = defineCommand<CommonOptions>({
  examples: [
    "echo 'source <(volley completion bash)' >> ~/.bashrc",
    "echo 'source <(volley completion zsh)' >> ~/.zshrc",
    'volley completion fish > ~/.config/fish/completions/volley.fish',
  ],
  declare: (program) =>
    program.argument('<shell>', SHELLS.join(', ')).argument('[words...]', 'used by the scripts'),
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
    `Unknown shell ${JSON.stringify(shell)}${close === undefined ? '.' : `; did you mean ${close}?`} Supported: ${SHELLS.join(', ')}.`,
  );
}

/** Other words would change on their way to the shell. */
function isOneLine(word: string): boolean {
  return printableText(word) === word && !/[\n\t]/.test(word);
}

/** A word that may be completed. */
interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** The command line before the cursor. */
interface TypedLine {
  readonly words: readonly string[];
  readonly options: CommonOptions;
  readonly io: Io;
}

type Values = (asked: TypedLine) => Promise<Candidate[]> | Candidate[];

const MAX_IDS = 1000;

const VALUES: Readonly<Record<string, Values>> = {
  '--batch': batches,
  '--function': functions,
  '--id': ids,
  '--ids': ids,
  '--depends-on': ids,
  '--priority': () => plain([...PRIORITIES, 'medium']),
  '--filter-status': () => plain(TASK_STATUSES),
  '--on-dependency-failure': () => plain(['skip', 'run', 'on-failure']),
};
/** For options that differ between commands. */
const VALUES_OF_COMMANDS: Readonly<Record<string, Values>> = {
  'results --format': () => plain(['summary', 'detailed', 'json']),
  'export --format': () => plain(['json', 'csv', 'jsonl', 'markdown']),
  'mcp --scope': () => plain(['project', 'user']),
  'token --scope': () => plain(SCOPES),
  'serve --log-level': async () => plain((await import('../../config/schema.ts')).LOG_LEVELS),
};
const ARGUMENTS: Readonly<Record<string, Values>> = {
  explain: ids,
  cancel: ids,
  help: () => named(COMMANDS),
  completion: () => plain(Object.keys(COMPLETION_SCRIPTS)),
  mcp: mcpWords,
};
/** Commands of `tasks` that take a file, not a feature. */
const TAKES_FILE: readonly string[] = ['new', 'import'];

/** The candidates for the last word. If the folder has problems, there are none. */
async function completionsFor(
  words: readonly string[],
  options: CommonOptions,
  io: Io,
): Promise<Candidate[]> {
  const current = words.at(-1) ?? '';
  try {
    const found = await valuesFor({ words, options, io });
    return found.filter(({ word }) => word.startsWith(current));
  } catch {
    return [];
  }
}

async function valuesFor(asked: TypedLine): Promise<Candidate[]> {
  const { words } = asked;
  if (words.length < 2) return [...named(COMMANDS), ...plain(['--help', '--version'])];
  if (words[0] === 'tasks') return tasksValues({ ...asked, words: words.slice(1) });
  const entry = COMMANDS.find(({ name }) => name === words[0]);
  if (entry === undefined) return ARGUMENTS[words[0]!]?.(asked) ?? [];
  return argumentsOf(entry, asked, ARGUMENTS[entry.name]);
}

function tasksValues(asked: TypedLine): Promise<Candidate[]> | Candidate[] {
  const { words } = asked;
  const [name] = words;
  if (words.length < 2 || name === 'help') return named(TASKS_COMMANDS);
  const entry = TASKS_COMMANDS.find((one) => one.name === name);
  if (entry === undefined) return [];
  const hasFeature = words.length === 2 && !TAKES_FILE.includes(entry.name);
  return argumentsOf(entry, asked, hasFeature ? features : undefined);
}

/** The values of an option, the options, or the arguments of a command. */
async function argumentsOf(
  entry: CommandEntry,
  asked: TypedLine,
  argument: Values | undefined,
): Promise<Candidate[]> {
  const { words } = asked;
  const [before, current] = [words.at(-2), words.at(-1) ?? ''];
  const declared = new Command(entry.name);
  declare(declared, await entry.load());
  if (declared.commands.length > 0 && words.length === 2)
    return declared.commands.map((inner) => ({ word: inner.name(), about: inner.description() }));
  const values = (option: string | undefined) => {
    if (declared.options.find(({ long }) => long === option)?.required !== true) return undefined;
    return (VALUES_OF_COMMANDS[`${entry.name} ${option}`] ?? VALUES[option!])?.(asked) ?? [];
  };
  const [, option] = /^(--[^=]+)=/.exec(current) ?? [];
  if (option !== undefined) {
    return ((await values(option)) ?? []).map(({ word, about }) => ({ word: `${option}=${word}`, about }));
  }
  const found = values(before);
  if (found !== undefined) return found;
  if (!current.startsWith('-')) return argument?.(asked) ?? [];
  return declared.options.map(({ long, description }) => ({ word: long ?? '', about: description }));
}

async function mcpWords({ words, options, io }: TypedLine): Promise<Candidate[]> {
  const before = words.slice(1, -1).filter((word) => !word.startsWith('-'));
  if (before.length === 0)
    return [
      { word: 'install', about: 'add Volley to the configuration of a client' },
      { word: 'login', about: 'log in to a server in volley.toml' },
      { word: 'logout', about: 'forget a login' },
    ];
  if (before.length > 1) return [];
  if (before[0] === 'login' || before[0] === 'logout') return remoteServers(options, io);
  if (before[0] !== 'install') return [];
  const { MCP_CLIENTS } = await import('../mcp/clients.ts');
  return MCP_CLIENTS.map(({ name, title }) => ({ word: name, about: title }));
}

async function remoteServers({ config: file }: TypedLine['options'], { cwd, env }: Io): Promise<Candidate[]> {
  const { loadConfig } = await import('../../config/load.ts');
  const { config } = await loadConfig({ cwd, env, ...(file !== undefined && { file }) });
  return Object.entries(config.mcp.servers).flatMap(([word, { connection }]) =>
    connection.kind === 'http' ? [{ word, about: connection.url }] : [],
  );
}

function named(commands: readonly CommandEntry[]): Candidate[] {
  return commands.map(({ name, summary }) => ({ word: name, about: summary }));
}

async function features({ io }: TypedLine): Promise<Candidate[]> {
  const { TaskFolder } = await import('../../tasks/files/task-folder.ts');
  return plain(await TaskFolder.nearest(io.cwd).names());
}

function batches({ options, io }: TypedLine): Promise<Candidate[]> {
  return withStore(options, io, async ({ store }) => plain((await store.batches()).map(({ name }) => name)));
}

function ids({ words, options, io }: TypedLine): Promise<Candidate[]> {
  return withStore(options, io, async ({ store }) => {
    const named = optionIn('--batch', words);
    const batch = words[0] === 'cancel' ? (named ?? 'default') : await chosenBatch(store, named);
    return (await store.tasks(batch, { limit: MAX_IDS })).map(({ id, name, status }) => ({
      word: id,
      about: `${status}: ${name}`,
    }));
  });
}

function functions({ options, io }: TypedLine): Promise<Candidate[]> {
  return withSession(options, io, async ({ coordinator }) =>
    (await coordinator()).tools().map(({ name, description }) => ({
      word: name,
      about: description.split('\n')[0]!,
    })),
  );
}

function optionIn(option: string, words: readonly string[]): string | undefined {
  const place = words.findIndex((word) => word === option || word.startsWith(`${option}=`));
  if (place < 0) return undefined;
  return words[place] === option ? words[place + 1] : words[place]!.slice(option.length + 1);
}

function plain(words: readonly string[]): Candidate[] {
  return words.map((word) => ({ word, about: '' }));
}
