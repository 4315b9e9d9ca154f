import { shellQuote } from '../../core/shell-quote.ts';
import type { Io } from './io.ts';

/** The names of all commands, for those that texts mention. */
const COMMAND_NAMES = [
  ...['run', 'add', 'add-batch', 'start', 'retry', 'stop', 'cancel', 'clear', 'recover', 'simulate'],
  ...['status', 'watch', 'wait', 'list', 'explain', 'results', 'export', 'tasks', 'mcp', 'serve'],
  ...['dashboard', 'token', 'init', 'trust', 'tools', 'doctor', 'completion'],
] as const;
export type CommandName = (typeof COMMAND_NAMES)[number];

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

/** Rewrites the commands in a text of ours so that the reader can copy them. */
export function rewriteCommands(text: string, { config }: CommandScope, io: Pick<Io, 'env'>): string {
  const flags = scopeFlags({ config });
  return text.replace(COMMAND, (_, command: string) => `${programName(io)} ${command}${flags}`);
}

/**
 * The executor addresses models and names actions and fields. People get commands and options instead. Only these
 * sentences at the end of a line are rewritten, never what comes from tools.
 */
const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/^The next page has "cursor": (\d+)\.$/, 'Next page: --after $1'],
  [/^The next part begins at "offset": (\d+)\.$/, 'Next part: --offset $1'],
  [/^One result as a whole or in parts: "id".*$/, 'A whole result: --id ID'],
  [
    /^More: "format": "detailed" for a list in pages, "id" for/,
    'More: --format detailed for a list in pages, --id ID for',
  ],
  [
    /^See "results" for the reasons; "retry" opens them again\.$/,
    '{volley} results{flags} shows the reasons; {volley} retry{flags} reopens them.',
  ],
  [/"retry" of (\S+) opens both again\.$/, '{volley} retry{flags} --ids $1 reopens both.'],
  [/"retry" opens it again\.$/, '{volley} retry{flags} reopens it.'],
  [/ runs with the next "start"\.$/, ' runs with the next {volley} start{flags}.'],
  [/ Run it with "start"\.$/, ' Run it with: {volley} start{flags}'],
  [/The batch is not running: start it\.$/, 'The batch is not running. Run it with: {volley} start{flags}'],
  [
    /died: "start" sees to it, and so does volley recover\.$/,
    'died. {volley} start{flags} or {volley} recover{config} recovers it.',
  ],
];

/** Rewrites an answer of the executor for the command line. `scope` makes its commands ready to copy. */
export function rewriteAnswer(text: string, scope: CommandScope, io: Pick<Io, 'env'>): string {
  const parts: Readonly<Record<string, string>> = {
    '{volley}': programName(io),
    '{flags}': scopeFlags(scope),
    '{config}': scopeFlags({ config: scope.config }),
  };
  const sentences = SENTENCES.map(
    ([sentence, words]) =>
      [sentence, words.replace(/\{\w+\}/g, (part) => parts[part]!.replaceAll('$', '$$$$'))] as const,
  );
  return text
    .split('\n')
    .map((line) => sentences.reduce((said, [sentence, words]) => said.replace(sentence, words), line))
    .join('\n');
}

/** Fields of requests whose options have another name. */
const RENAMED: Readonly<Record<string, string>> = {
  cursor: '--after',
  'range.offset': '--offset',
  'range.length': '--length',
};
const SAME_NAME = [
  ...['batch', 'max_concurrent', 'timeout', 'fail_fast', 'format', 'limit', 'id', 'ids', 'filter_status'],
  ...['output_file', 'name', 'function', 'params', 'priority', 'max_retries', 'depends_on'],
  'on_dependency_failure',
];
const FIELDS = [...Object.keys(RENAMED), ...SAME_NAME].map((field) => field.replace('.', '\\.')).join('|');
const REQUEST = /^The request "\w+" cannot be done:\s/;
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
