import { ACTIONS } from '../../batch/actions/all.ts';
import { findHint, type HintName } from '../../batch/hints.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import type { Io } from './io.ts';
import { wrapMessage } from './wrap.ts';

/** The names of all commands, for those that texts mention. */
const COMMAND_NAMES = [
  ...ACTIONS.map(({ name }) => name.replaceAll('_', '-')),
  ...['run', 'recover', 'simulate', 'watch', 'explain', 'tasks', 'mcp', 'serve'],
  ...['dashboard', 'token', 'init', 'trust', 'tools', 'doctor', 'completion'],
].sort((a, b) => b.length - a.length);

/** A command inside a sentence. Not in shell code, which finds the program on its path. */
const COMMAND = new RegExp(
  `(?<![\\w/-]|npx |<\\()volley ((?:tasks [a-z]+|${COMMAND_NAMES.join('|')})(?![\\w-]))`,
  'g',
);

/** How the reader starts this program: what npm started need not be on the path of a shell. */
export function programName({ env }: Pick<Io, 'env'>): string {
  const isFromNpm = env['npm_command'] === 'exec' || env['npm_lifecycle_event'] !== undefined;
  return isFromNpm ? 'npx volley' : 'volley';
}

/** What a follow-up command needs to reach the same batch in the same store. */
export interface CommandScope {
  readonly batch?: unknown;
  /** The `volley.toml` that this command was given. */
  readonly config?: string | undefined;
}

/** ` --batch NAME --config FILE`, without those that are the default. */
export function scopeFlags({ batch, config }: CommandScope): string {
  const isNamed = typeof batch === 'string' && batch !== 'default';
  const words = [
    ...(isNamed ? ['--batch', shellQuote(batch)] : []),
    ...(config === undefined ? [] : ['--config', shellQuote(config)]),
  ];
  return words.map((word) => ` ${word}`).join('');
}

/** Rewrites the commands in a string of ours so that the reader can copy them. */
export function rewriteCommands(text: string, { config }: CommandScope, io: Pick<Io, 'env'>): string {
  const flags = scopeFlags({ config });
  return text.replace(COMMAND, (_, command: string) => `${programName(io)} ${command}${flags}`);
}

/** What people read in place of each hint for models: commands and options instead of actions and fields. */
const COMMAND_HINTS: Readonly<Record<HintName, string>> = {
  nextPage: 'Next page: --after {value}',
  nextPart: 'Next part: --offset {value}',
  oneResult: 'A full result: --id ID',
  itemsOf: 'The items of a group: --group ID',
  moreResults: 'More: --format detailed for a paged list, --id ID for one full result.',
  retryFailed: '{volley} results{flags} shows the reasons; {volley} retry{flags} reopens them.',
  retryCause: '{volley} retry{flags} --ids {value} reopens both.',
  retry: '{volley} retry{flags} reopens it.',
  logs: 'What it printed: {volley} logs{flags} {value}',
  startOpen: 'Open tasks run on the next {volley} start{flags}.',
  start: 'Run it with: {volley} start{flags}',
  recover: '{volley} start{flags} or {volley} recover{config} recovers it.',
};

/** Rewrites an answer of the executor for the command line. `scope` makes its commands ready to copy; hints are wrapped. */
export function rewriteAnswer(
  text: string,
  scope: CommandScope,
  io: Pick<Io, 'env'>,
  columns = Number.POSITIVE_INFINITY,
): string {
  const parts: Readonly<Record<string, string>> = {
    '{volley}': programName(io),
    '{flags}': scopeFlags(scope),
    '{config}': scopeFlags({ config: scope.config }),
  };
  const rewrite = (line: string): string => {
    const found = findHint(line);
    if (found === undefined) return line;
    const words = line.replace(found.pattern, (_, value: unknown) =>
      COMMAND_HINTS[found.name].replace(/\{\w+\}/g, (part) => parts[part] ?? shellQuote(String(value))),
    );
    return wrapMessage(words, columns);
  };
  return text.split('\n').map(rewrite).join('\n');
}

/** Fields of requests whose options have another name. */
const RENAMED: Readonly<Record<string, string>> = {
  cursor: '--after',
  'range.offset': '--offset',
  'range.length': '--length',
};
const SAME_NAME = [
  ...[
    'batch',
    'max_concurrent',
    'timeout',
    'fail_fast',
    'format',
    'limit',
    'id',
    'ids',
    'group',
    'filter_status',
  ],
  ...['output_file', 'name', 'function', 'params', 'priority', 'max_retries', 'depends_on'],
  'on_dependency_failure',
];
const FIELDS = [...Object.keys(RENAMED), ...SAME_NAME].map((field) => field.replace('.', '\\.')).join('|');
const REQUEST = /^The request "\w+" is not valid:\s/;
const FIELD = new RegExp(`(^ *|; )(${FIELDS})(?:\\[\\d+\\])?(?= (?:must|is missing))`, 'gm');

/** Names options where the executor's message names fields of a request: `--limit must be at least 1`. */
export function fieldsToOptions(text: string): string {
  const [request = ''] = REQUEST.exec(text) ?? [];
  const fields = text.slice(request.length);
  const words = fields.replace(
    FIELD,
    (_, before: string, field: string) => before + (RENAMED[field] ?? `--${field.replaceAll('_', '-')}`),
  );
  if (request === '' || words === fields) return text;
  return request.endsWith('\n') ? `Invalid options:\n${words}` : words;
}
