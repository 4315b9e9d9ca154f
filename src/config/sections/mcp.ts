import { z } from 'zod';
import { MAX_SPAN_MS } from '../../core/numbers.ts';
import { MCP_SERVER_DEFAULTS } from '../defaults.ts';
import { choice, globRule, table, textList, wholeNumber } from './kinds.ts';

const defaults = MCP_SERVER_DEFAULTS;

const optionalText = (does: string, defaultText = 'none') =>
  z.string().min(1).max(4096).optional().meta({ description: does, defaultText });

/** A table of texts with names of its own, each of which may be a reference to the environment. */
const texts = (description: string, name: RegExp, nameText: string, does: string) =>
  z
    .record(
      z.string().regex(name).meta({ description: nameText }),
      z.string().max(8192).meta({ description: does, defaultText: 'none' }),
    )
    .default({})
    .meta({ description });

const REFERENCE =
  'A value `"env:NAME"`, or one that ends so (`"Bearer env:NAME"`), takes that environment variable, which is shown nowhere.';

const tool = table('How calls of one tool may run next to others, by the name that the server gives it.', {
  parallel: z.boolean().optional().meta({
    description:
      'Whether its calls run next to others of the server. `true` is for a tool that is known to be safe though it does not say that it only reads, `false` for one that is not.',
    defaultText: 'by `parallel` of the server',
  }),
  lock: optionalText(
    'The name of an argument: calls with different values of it run next to each other, calls with the same one after the other.',
  ),
});

const server = table(
  'A server of the Model Context Protocol whose tools become functions of batches, named `NAME.tool`. It is started when the first of them is needed. Give `command` for a program or `url` for a server elsewhere.',
  {
    command: optionalText('The program that is the server, spoken to over its input and output.'),
    args: textList({
      does: 'The arguments of the program.',
      default: defaults.args,
      examples: ['-y', 'some-server'],
    }),
    cwd: optionalText('The folder in which the program runs.', 'the folder of the file'),
    env: texts(
      `The environment variables that the program gets, besides the usual ones (\`PATH\`, \`HOME\`, \`USER\`, \`LANG\`, \`LC_ALL\`, \`TZ\`, \`TMPDIR\`). ${REFERENCE}`,
      /^[A-Za-z_][A-Za-z0-9_]*$/,
      'the name of an environment variable such as "PATH"',
      'The value of the variable.',
    ),
    url: optionalText('The address of a server that speaks streamable HTTP.'),
    headers: texts(
      `Headers that are sent with every request. ${REFERENCE}`,
      /^[!#$%&'*+.^_`|~\w-]{1,128}$/,
      'the name of a header such as "Authorization"',
      'The value of the header.',
    ),
    roots: z
      .array(z.string().min(1).max(1024))
      .max(100)
      .optional()
      .meta({
        description:
          'The folders that the server is told to work in. `[]` tells it none; then its own arguments decide.',
        examples: [['.']],
        defaultText: '`tools.roots` for a program, none for a server elsewhere',
      }),
    max_concurrent: wholeNumber({
      does: 'How many calls may run on the server at once.',
      default: defaults.max_concurrent,
      min: 1,
      max: 1_000_000,
    }),
    rate_per_minute: z.number().int().min(1).max(1_000_000).optional().meta({
      description: 'How many calls may begin in any minute.',
      defaultText: 'no limit',
    }),
    start_timeout_ms: wholeNumber({
      does: 'How long the server may take to start and to tell of its tools.',
      default: defaults.start_timeout_ms,
      min: 1,
      max: MAX_SPAN_MS,
    }),
    call_timeout_ms: z.number().int().min(1).max(MAX_SPAN_MS).optional().meta({
      description: 'How long a call may take, where it does not say so itself.',
      defaultText: '`defaults.timeout_ms`',
    }),
    max_result_bytes: wholeNumber({
      does: 'The largest result that is taken. A longer text is cut, and says so; larger data fails the call.',
      default: defaults.max_result_bytes,
      min: 1024,
      max: 2 ** 23,
    }),
    allow: textList(
      {
        does: 'Globs of the tools that may be called, by the names that the server gives them.',
        default: defaults.allow,
        examples: ['read_*'],
      },
      globRule,
    ),
    deny: textList(
      {
        does: 'Globs of the tools that may not be called, even where `allow` names them.',
        default: defaults.deny,
        examples: ['delete_*'],
      },
      globRule,
    ),
    allow_destructive: textList({
      does: 'The names, in full, of tools that may be called though the server marks them as destructive.',
      default: defaults.allow_destructive,
      examples: ['write_file', 'edit_file'],
    }),
    parallel: choice(['read-only', 'all', 'none'], {
      does: 'Which calls run next to each other: `read-only` those of tools that say that they only read, and of the others one at a time and alone; `all` every one; `none` one at a time.',
      default: defaults.parallel,
    }),
    tools: z
      .record(z.string().min(1).max(256).meta({ description: '1 to 256 characters' }), tool)
      .default({}),
  },
).superRefine(({ command, url, args, cwd, env, headers }, context) => {
  const misplaced = (name: string, owner: string) =>
    context.addIssue({ code: 'custom', message: `goes with ${owner} only`, path: [name] });
  if (url === undefined && Object.keys(headers).length > 0) misplaced('headers', 'url');
  if (command === undefined) {
    if (Object.keys(env).length > 0) misplaced('env', 'command');
    if (args.length > 0) misplaced('args', 'command');
    if (cwd !== undefined) misplaced('cwd', 'command');
  }
  if (command !== undefined && url !== undefined)
    context.addIssue({ code: 'custom', message: 'must have either command or url, not both', path: ['url'] });
  else if (command === undefined && url === undefined)
    context.addIssue({
      code: 'custom',
      message: 'must have command (a program) or url (a server elsewhere)',
    });
  else if (url !== undefined && !/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ''))
    context.addIssue({
      code: 'custom',
      message: 'must be an address such as "https://tools.example.org/mcp"',
      path: ['url'],
    });
});

const serverName = z
  .string()
  .regex(/^[A-Za-z_][\w-]{0,63}$/)
  .meta({ description: '1 to 64 letters, digits, "_" or "-", the first a letter or "_"' });

export const mcpSection = table('Other servers of the Model Context Protocol.', {
  servers: z.record(serverName, server).default({}),
});
