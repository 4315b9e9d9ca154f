import { availableParallelism, totalmem } from 'node:os';
import { MAX_SPAN_MS } from '../core/numbers.ts';
import { PRIORITIES } from '../core/priority.ts';
import { type ByConfigKey, defaultLimits, RESOURCE_TABLE } from '../core/resource-table.ts';
import {
  choice,
  flag,
  globRule,
  type Libraries,
  optionalFlag,
  optionalList,
  optionalNumber,
  optionalTable,
  optionalText,
  realNumber,
  requiredNumber,
  requiredText,
  type Setting,
  table,
  tables,
  text,
  textList,
  texts,
  type ValueOf,
  wholeNumber,
} from './kinds.ts';

const engineSection = table('How waiting, stopping and remembering work.', {
  ageing_ms: wholeNumber({
    does: 'By how much waiting makes up for one step of priority: after this time a `low` call is as urgent as a fresh `normal` one.',
    default: 30_000,
    min: 1,
    max: MAX_SPAN_MS,
  }),
  reserve_after_ms: wholeNumber({
    does: 'After what time of waiting room is kept free for a large call that does not fit, so that small ones cannot pass it for ever.',
    default: 5000,
    min: 0,
    max: MAX_SPAN_MS,
  }),
  grace_ms: wholeNumber({
    does: 'How long a call that was told to stop keeps its room before the room is given to others.',
    default: 5000,
    min: 0,
    max: MAX_SPAN_MS,
  }),
  retain_settled: wholeNumber({
    does: 'How many calls that have ended can still be found by their id.',
    default: 1000,
    min: 0,
    max: 1_000_000_000,
  }),
  event_log_size: wholeNumber({
    does: 'How many progress updates are remembered for slow readers.',
    default: 4096,
    min: 16,
    max: 2 ** 24,
  }),
});

const rate = table(
  'How often calls may start: at most `count` in any span of `per_ms` milliseconds. Both keys are needed. For example `rate = { count = 10, per_ms = 1000 }`.',
  {
    count: requiredNumber({ does: 'How many starts the span may hold.', min: 1, max: 1_000_000 }),
    per_ms: requiredNumber({ does: 'The length of the span.', min: 1, max: MAX_SPAN_MS }),
  },
);

const sharedLimits = (of: string) =>
  table(`Limits of one ${of}, by its name.`, {
    max_concurrency: optionalNumber({
      does: `How many calls of this ${of} may run at once.`,
      defaultText: 'no limit',
      min: 1,
      max: 1_000_000,
    }),
    rate: optionalTable(rate),
  });

const TOOL_NAME = {
  pattern: /^[A-Za-z_][\w.-]{0,127}$/,
  valid: '1 to 128 letters, digits, "_", "-" or ".", the first a letter or "_"',
};
const ANY_NAME = { valid: '1 to 256 characters' };

const MACHINE_HAS = { cores: 'the number of cores of this machine', memory: 'the memory of this machine' };
const MACHINE_LIMITS = defaultLimits('configKey', {
  cores: availableParallelism(),
  memoryMb: Math.floor(totalmem() / 2 ** 20),
});

const resourceLimits = Object.fromEntries(
  RESOURCE_TABLE.map(({ configKey, limits, limitHelp, defaultLimit }) => [
    configKey,
    (limits.whole ? wholeNumber : realNumber)({
      does: limitHelp,
      default: MACHINE_LIMITS[configKey],
      ...(typeof defaultLimit === 'string' && { defaultText: MACHINE_HAS[defaultLimit] }),
      min: limits.min,
      max: limits.max,
    }),
  ]),
) as Record<keyof ByConfigKey, Setting<number>>;

const limitsSection = table(
  'How much may run at once. These keys are applied while Volley runs: what runs keeps its room, what waits is looked at again.',
  {
    max_concurrency: wholeNumber({
      does: 'How many calls may run at once, of all tools together.',
      default: 64,
      min: 1,
      max: 1_000_000,
    }),
    ...resourceLimits,
    tools: tables(TOOL_NAME, sharedLimits('tool')),
    groups: tables(ANY_NAME, sharedLimits('group')),
  },
);

const retry = table('When and how often a failed call is tried again.', {
  max_retries: wholeNumber({
    does: 'How many further attempts may follow the first: 3 means up to 4 attempts.',
    default: 0,
    min: 0,
    max: 1000,
  }),
  delay_ms: wholeNumber({
    does: 'The pause before the first retry.',
    default: 1000,
    min: 0,
    max: MAX_SPAN_MS,
  }),
  factor: realNumber({
    does: 'By how much each pause is longer than the one before.',
    default: 2,
    min: 1,
    max: 100,
  }),
  max_delay_ms: wholeNumber({
    does: 'The longest pause.',
    default: 30_000,
    min: 0,
    max: MAX_SPAN_MS,
  }),
  jitter: realNumber({
    does: 'The share of each pause that is random, so that many failures do not come back at once.',
    default: 0.5,
    min: 0,
    max: 1,
  }),
});

const defaultsSection = table('For calls of which neither the caller nor the tool says otherwise.', {
  priority: choice([...PRIORITIES, 'medium'], {
    does: 'How urgent a call is; `medium` is another word for `normal`.',
    default: 'normal',
  }),
  timeout_ms: wholeNumber({
    does: 'How long one attempt of a call may take, from its start.',
    default: 300_000,
    min: 1,
    max: MAX_SPAN_MS,
  }),
  retry: retry,
});

/** The most that is kept in memory of one file, answer, output or result. */
const MAX_BYTES = 2 ** 30;

const files = table('The tools `read_file`, `write_file`, `list_directory` and `search_files`.', {
  max_bytes: wholeNumber({
    does: 'The largest part of a file that is read at once, and the largest text that is written.',
    default: 1_048_576,
    min: 1,
    max: MAX_BYTES,
  }),
  max_entries: wholeNumber({
    does: 'How many entries or matches a listing or a search gives at most.',
    default: 1000,
    min: 1,
    max: 1_000_000,
  }),
});

const httpRequest = table('The tool `http_request`.', {
  enabled: flag({ does: 'Whether the tool exists.', default: false }),
  allow_private: flag({
    does: 'Whether addresses of this machine and of private networks may be asked.',
    default: false,
  }),
  allow_hosts: textList(
    {
      does: 'Globs of the host names that may be asked.',
      default: ['*'],
      examples: ['api.example.org', '*.example.com'],
    },
    (glob, libraries) =>
      /[\s/:@]/.test(glob)
        ? 'must be a host name or a glob of host names such as "*.example.org", without scheme, port or path'
        : globRule(glob, libraries),
  ),
  max_bytes: wholeNumber({
    does: 'The largest answer that is read.',
    default: 5_242_880,
    min: 1,
    max: MAX_BYTES,
  }),
  max_redirects: wholeNumber({
    does: 'How many redirects are followed.',
    default: 5,
    min: 0,
    max: 100,
  }),
  timeout_ms: wholeNumber({
    does: 'How long a request may take, with its redirects.',
    default: 30_000,
    min: 1,
    max: MAX_SPAN_MS,
  }),
});

const shell = table('The tool `shell`.', {
  enabled: flag({ does: 'Whether the tool exists.', default: false }),
  program: textList({
    does: 'The program that runs commands and its first arguments; the command is added as the last.',
    default: ['/bin/sh', '-c'],
    examples: ['/bin/bash', '-c'],
    min: 1,
  }),
  env: textList(
    {
      does: 'The names of the environment variables that commands get; all others are kept from them.',
      default: ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ'],
      examples: ['PATH', 'HOME', 'JAVA_HOME'],
    },
    (name) =>
      /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
        ? undefined
        : 'must be the name of an environment variable such as "PATH"',
  ),
  network: flag({
    does: 'Whether commands in the sandbox may use the network. Outside a sandbox nothing keeps them from it.',
    default: false,
  }),
});

const nameRule = (glob: string, libraries: Libraries) =>
  /[^\w.\-*?[\]{}()!,|+@^]/.test(glob)
    ? 'must be a name of a tool or a glob of such names, such as "read_*"'
    : globRule(glob, libraries);

const toolsSection = table('Which tools there are, and what they may touch.', {
  allow: textList(
    {
      does: 'Globs of the names of the tools that may be called.',
      default: ['*'],
      examples: ['read_*', 'search_files'],
    },
    nameRule,
  ),
  deny: textList(
    {
      does: 'Globs of the names of the tools that may not be called, even where `allow` names them.',
      default: [],
      examples: ['write_*', 'shell'],
    },
    nameRule,
  ),
  modules: textList(
    {
      does: "Modules with tools of your own: paths or globs, from the file's folder, loaded in this order. TypeScript works where Node can run it (22.18 or newer).",
      default: [],
      examples: ['./tools/*.mjs'],
    },
    globRule,
  ),
  roots: textList({
    does: "The folders in which file tools and processes may work, from the file's folder; each must exist. A relative path that a tool gets counts from the first.",
    default: ['.'],
    examples: ['.', '../data'],
    min: 1,
  }),
  protected: textList(
    {
      does: "Globs of files and folders that no tool may write, relative to the file's folder. They add to the default protected paths (see docs/tools.md).",
      default: [],
      examples: ['infra/**', '**/*.pem'],
    },
    globRule,
  ),
  writable: textList(
    {
      does: "Globs of protected files and folders that tools may write, relative to the file's folder. Volley's own files (`volley.toml`, `.volley`, `.tmp/tasks`, the store, your configuration folder) always stay protected.",
      default: [],
      examples: ['.github/workflows/**', 'node_modules/**'],
    },
    globRule,
  ),
  files: files,
  http_request: httpRequest,
  shell: shell,
});

const threadsSection = table('Tools with `isolation: "thread"`.', {
  max: wholeNumber({
    does: 'How many threads there are at most. They start when they are needed.',
    default: availableParallelism(),
    defaultText: 'the number of cores of this machine',
    min: 1,
    max: 1024,
  }),
});

const processesSection = table(
  'Tools with `isolation: "process"`, and the tool `shell`. The limits hold for each call; a tool can set its own.',
  {
    sandbox: choice(['auto', 'required', 'off'], {
      does: '`auto` uses the layers of the sandbox that this system has, `required` refuses to run a process where one is missing (instead of cgroups a watch over the processes will do), `off` uses none.',
      default: 'auto',
    }),
    memory_mb: wholeNumber({
      does: 'The memory of a call, all its processes together. A call that needs more is ended.',
      default: 1024,
      min: 16,
      max: 1_000_000_000,
    }),
    cpu_ms: wholeNumber({
      does: 'The CPU time of a call.',
      default: 300_000,
      min: 1,
      max: MAX_SPAN_MS,
    }),
    open_files: wholeNumber({
      does: 'How many files a process may hold open.',
      default: 1024,
      min: 16,
      max: 1_048_576,
    }),
    processes: wholeNumber({
      does: 'How many processes a call may have at once. A call that has more is ended.',
      default: 64,
      min: 1,
      max: 1_000_000,
    }),
    disk_mb: wholeNumber({
      does: 'The largest file that a call may write, and the total that its processes may write to disk. A call that exceeds it is ended.',
      default: 10_240,
      min: 1,
      max: 1_000_000_000,
    }),
    output_bytes: wholeNumber({
      does: 'How much a call may write to its output and error streams together. More ends it.',
      default: 10_485_760,
      min: 1,
      max: MAX_BYTES,
    }),
    result_bytes: wholeNumber({
      does: 'The largest result that a call may give back.',
      default: 10_485_760,
      min: 1,
      max: MAX_BYTES,
    }),
  },
);

const secretsSection = table(
  'What is removed from progress events and error messages: values of environment variables and fields with secret names, and tokens of well-known shapes. Values of variables and tokens are also found in base64, hexadecimal and percent-encoding. Tool results are data and are not changed.',
  {
    names: textList(
      {
        does: 'Globs of the names of environment variables and fields whose values are not shown. Naming some replaces these defaults.',
        default: [
          'TOKEN',
          '*_TOKEN',
          '*_KEY',
          '*APIKEY',
          '*SECRET*',
          '*PASSWORD*',
          '*PASSWD*',
          '*PASSPHRASE*',
          '*_PASS',
          'PWD',
          '*_PWD',
          '*_PAT',
          '*COOKIE',
          '*CREDENTIAL*',
          '*AUTHORIZATION',
        ],
        examples: ['*_TOKEN', 'DATABASE_URL'],
      },
      globRule,
    ),
    max_text_length: wholeNumber({
      does: "How many characters of a tool's step or error text are handed on.",
      default: 2000,
      min: 16,
      max: 1_000_000,
    }),
  },
);

const storeSection = table('Where batches and their results are kept.', {
  file: text({
    does: 'The file, an SQLite database; relative to the folder of `volley.toml`. It is made when the first task is added.',
    default: '.volley/volley.db',
  }),
});

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

const token = table(
  'A program that may use the server, by its name; `volley token NAME` makes the lines. The token itself is kept by the program and stands nowhere here.',
  {
    hash: requiredText('The SHA-256 of the token: `sha256:` and 64 hexadecimal digits.', 71, (hash) =>
      /^sha256:[\da-f]{64}$/.test(hash) ? undefined : 'must be "sha256:" and 64 hexadecimal digits',
    ),
    scope: choice(['read', 'run', 'admin'], {
      does: 'What it may do: `read` sees everything, `run` also adds, starts, stops, cancels and retries, `admin` also clears. Each includes those before it.',
      default: 'read',
    }),
  },
);

const TOKEN_NAME = {
  pattern: /^[A-Za-z_][\w.-]{0,63}$/,
  valid: '1 to 64 letters, digits, "_", "-" or ".", the first a letter or "_"',
};

const serverSection = table('`volley serve`: the HTTP API and the dashboard.', {
  host: text({
    does: 'The address to listen on. Others than those of this machine itself need tokens, and should have TLS.',
    default: '127.0.0.1',
  }),
  port: optionalNumber({
    does: 'The port to listen on; 0 takes a free one.',
    defaultText: '7717, or a free one where that is taken',
    min: 0,
    max: 65_535,
  }),
  allowed_hosts: textList(
    {
      does: 'Host names by which the server may be called, besides `localhost` and addresses; one with a port counts with that port only. Others are refused, so that no foreign page can reach it by a name of its own.',
      default: [],
      examples: ['volley.example.org'],
    },
    (host) =>
      /^(\[[\da-f:.]+\]|[a-z\d._-]+)(:\d{1,5})?$/i.test(host)
        ? undefined
        : 'must be a host name such as "volley.example.org", with or without a port',
  ),
  allowed_origins: textList(
    {
      does: 'Pages of other origins that may call the API, with a token of their own.',
      default: [],
      examples: ['https://tools.example.org'],
    },
    (origin) =>
      URL.canParse(origin) && new URL(origin).origin === origin
        ? undefined
        : 'must be an origin such as "https://tools.example.org"',
  ),
  grace_ms: wholeNumber({
    does: 'How long running tasks may go on after the server was told to stop.',
    default: 10_000,
    min: 0,
    max: MAX_SPAN_MS,
  }),
  session_ms: wholeNumber({
    does: 'How long a browser stays signed in.',
    default: 43_200_000,
    min: 1000,
    max: MAX_SPAN_MS,
  }),
  log_level: choice(LOG_LEVELS, {
    does: 'Which lines are logged: those of this level and the ones behind it. `debug` has a line for every request.',
    default: 'info',
  }),
  limits: table('What a client may cost. More is refused.', {
    max_body_bytes: wholeNumber({
      does: 'The largest body of a request.',
      default: 16_777_216,
      min: 1024,
      max: 2 ** 30,
    }),
    max_depth: wholeNumber({
      does: 'How deep JSON of a request may be nested.',
      default: 64,
      min: 8,
      max: 1000,
    }),
    max_connections: wholeNumber({
      does: 'How many connections may be open at once.',
      default: 2048,
      min: 1,
      max: 1_000_000,
    }),
    header_timeout_ms: wholeNumber({
      does: 'How long a client may take to send the headers of a request.',
      default: 10_000,
      min: 100,
      max: MAX_SPAN_MS,
    }),
    request_timeout_ms: wholeNumber({
      does: 'How long a client may take to send a whole request.',
      default: 60_000,
      min: 100,
      max: MAX_SPAN_MS,
    }),
    requests_per_second: wholeNumber({
      does: 'How many requests each token, session and address may send, on average; twice as many at once.',
      default: 200,
      min: 1,
      max: 10_000_000,
    }),
    streams: wholeNumber({
      does: 'How many streams of events each token, session and address may hold open.',
      default: 64,
      min: 1,
      max: 1_000_000,
    }),
  }),
  tls: table(
    'Certificate files. With both, the server speaks HTTPS.',
    {
      certificate: optionalText(
        'The certificate with its chain, PEM; relative to the folder of `volley.toml`.',
        { max: 1024 },
      ),
      key: optionalText('Its private key, PEM.', { max: 1024 }),
    },
    ({ certificate, key }, context) => {
      // With one of them the server would be open without anybody noticing.
      if ((certificate === undefined) !== (key === undefined))
        context.addIssue({ code: 'custom', message: 'must have both certificate and key' });
    },
  ),
  tokens: tables(TOKEN_NAME, token),
});

const VARIABLE_NAME = {
  pattern: /^[A-Za-z_][A-Za-z0-9_]*$/,
  valid: 'the name of an environment variable such as "PATH"',
};

const REFERENCE =
  'A value `"env:NAME"`, or one that ends so (`"Bearer env:NAME"`), takes that environment variable, which is shown nowhere.';

const tool = table('How calls of one tool may run next to others, by the name that the server gives it.', {
  parallel: optionalFlag(
    'Whether its calls run next to others of the server. `true` is for a tool that is known to be safe though it does not say that it only reads, `false` for one that is not.',
    'by `parallel` of the server',
  ),
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
      default: [],
      examples: ['-y', 'some-server'],
    }),
    cwd: optionalText('The folder in which the program runs.', { defaultText: 'the folder of the file' }),
    env: texts(
      `The environment variables that the program gets, besides the usual ones (\`PATH\`, \`HOME\`, \`USER\`, \`LANG\`, \`LC_ALL\`, \`TZ\`, \`TMPDIR\`). ${REFERENCE}`,
      VARIABLE_NAME,
      'The value of the variable.',
    ),
    url: optionalText('The address of a server that speaks streamable HTTP.'),
    headers: texts(
      `Headers that are sent with every request. ${REFERENCE}`,
      {
        pattern: /^[!#$%&'*+.^_`|~\w-]{1,128}$/,
        valid: 'the name of a header such as "Authorization"',
      },
      'The value of the header.',
    ),
    roots: optionalList({
      does: 'The folders that the server is told to work in. `[]` tells it none; then its own arguments decide.',
      examples: ['.'],
      defaultText: '`tools.roots` for a program, none for a server elsewhere',
      maxText: 1024,
    }),
    max_concurrent: wholeNumber({
      does: 'How many calls may run on the server at once.',
      default: 8,
      min: 1,
      max: 1_000_000,
    }),
    rate_per_minute: optionalNumber({
      does: 'How many calls may begin in any minute.',
      defaultText: 'no limit',
      min: 1,
      max: 1_000_000,
    }),
    start_timeout_ms: wholeNumber({
      does: 'How long the server may take to start and to tell of its tools.',
      default: 30_000,
      min: 1,
      max: MAX_SPAN_MS,
    }),
    call_timeout_ms: optionalNumber({
      does: 'How long a call may take, where it does not say so itself.',
      defaultText: '`defaults.timeout_ms`',
      min: 1,
      max: MAX_SPAN_MS,
    }),
    max_result_bytes: wholeNumber({
      does: 'The largest result that is taken. A longer text is cut, and says so; larger data fails the call.',
      default: 1_048_576,
      min: 1024,
      max: 2 ** 23,
    }),
    allow: textList(
      {
        does: 'Globs of the tools that may be called, by the names that the server gives them.',
        default: ['*'],
        examples: ['read_*'],
      },
      globRule,
    ),
    deny: textList(
      {
        does: 'Globs of the tools that may not be called, even where `allow` names them.',
        default: [],
        examples: ['delete_*'],
      },
      globRule,
    ),
    allow_destructive: textList({
      does: 'The names, in full, of tools that may be called though the server marks them as destructive.',
      default: [],
      examples: ['write_file', 'edit_file'],
    }),
    parallel: choice(['read-only', 'all', 'none'], {
      does: 'Which calls run next to each other: `read-only` those of tools that say that they only read, and of the others one at a time and alone; `all` every one; `none` one at a time.',
      default: 'read-only',
    }),
    tools: tables(ANY_NAME, tool),
  },
  ({ command, url, args, cwd, env, headers }, context) => {
    const misplaced = (name: string, owner: string) =>
      context.addIssue({ code: 'custom', message: `goes with ${owner} only`, path: [name] });
    if (url === undefined && Object.keys(headers).length > 0) misplaced('headers', 'url');
    if (command === undefined) {
      if (Object.keys(env).length > 0) misplaced('env', 'command');
      if (args.length > 0) misplaced('args', 'command');
      if (cwd !== undefined) misplaced('cwd', 'command');
    }
    if (command !== undefined && url !== undefined)
      context.addIssue({
        code: 'custom',
        message: 'must have either command or url, not both',
        path: ['url'],
      });
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
  },
);

const SHORT_NAME = {
  pattern: /^[A-Za-z_][\w-]{0,63}$/,
  valid: '1 to 64 letters, digits, "_" or "-", the first a letter or "_"',
};

const mcpSection = table('Other servers of the Model Context Protocol.', {
  servers: tables(SHORT_NAME, server),
});

const A_WEEK_SECONDS = 604_800;
const NO_LIMIT = { defaultText: 'no limit' };

const cost: Setting<number | undefined> = {
  default: undefined,
  schema: ({ z }) =>
    z
      .number()
      .positive()
      .max(1_000_000)
      .optional()
      .meta({ description: 'US dollars.', ...NO_LIMIT }),
};

const agent = table(
  'An agent, by the name under which subtasks suggest it. Whoever has a table here may be delegated to.',
  {
    adapter: optionalText(
      'How it is started: `claude`, `codex`, `opencode`, `gemini`, `qwen`, or `command` for any other program.',
      { defaultText: '`command` where there is one, otherwise the name of the agent' },
    ),
    model: optionalText('The model that it shall use.', { defaultText: "the agent's own choice" }),
    command: optionalList({
      does: 'The program and its arguments, started as they are. Of the adapter `command` it is what runs; of the others it stands instead of the program that they are named after.',
      examples: ['node', 'agents/coder.mjs'],
      defaultText: 'by the adapter',
      min: 1,
      maxText: 4096,
    }),
    env: texts(
      'Environment variables that it gets on top of yours.',
      VARIABLE_NAME,
      'The value of the variable.',
    ),
  },
);

const tasksSection = table('`volley tasks run`: agents that work on the subtasks of a feature.', {
  agent: optionalText('The agent of subtasks that suggest none.'),
  max_concurrent: wholeNumber({
    does: 'How many agents work at once.',
    default: 4,
    min: 1,
    max: 1000,
  }),
  worktrees: flag({
    does: 'Whether each agent works in a git worktree of its own, which is merged when its work was verified.',
    default: false,
  }),
  timeout: wholeNumber({
    does: 'How many seconds an attempt at a subtask may take.',
    default: 3600,
    min: 1,
    max: A_WEEK_SECONDS,
  }),
  stall: wholeNumber({
    does: 'After how many seconds without any output an agent is taken to be stuck, and is ended.',
    default: 600,
    min: 1,
    max: A_WEEK_SECONDS,
  }),
  max_retries: wholeNumber({
    does: 'How often a subtask is tried again. The next agent is told what was missing.',
    default: 1,
    min: 0,
    max: 100,
  }),
  denied_paths: textList(
    {
      does: 'Globs of paths that no agent may touch. A subtask that did fails, and nothing of it is merged.',
      default: ['**/*.env*', '**/*.key', '**/*.secret', '.git/**'],
      examples: ['**/*.env*', '.git/**'],
    },
    globRule,
  ),
  allowed_commands: textList({
    does: 'The shell commands that agents may run, by how they begin, for those that can keep to it. `[]` allows all.',
    default: [],
    examples: ['npm test', 'git diff'],
  }),
  allowed_agents: textList({
    does: 'The agents that may be delegated to, besides `agent` and those of `[tasks.agents]`. All others are refused.',
    default: [],
    examples: ['codex', 'claude'],
  }),
  setup: optionalText(
    'A shell command that is run in every new worktree before anything else, such as `npm ci`.',
  ),
  prompt: optionalText('A file with the template of the prompt, relative to the folder of `volley.toml`.', {
    defaultText: "Volley's own",
  }),
  budget: table(
    'What one subtask may use, all its attempts together, as far as its agent tells. More ends it with the reason `budget`.',
    {
      turns: optionalNumber({ does: 'Turns of the model.', min: 1, max: 1_000_000, ...NO_LIMIT }),
      tokens: optionalNumber({
        does: 'Tokens, of input and output together.',
        min: 1,
        max: 1e12,
        ...NO_LIMIT,
      }),
      cost,
    },
  ),
  agents: tables(SHORT_NAME, agent),
});

/**
 * All of `volley.toml`: the type of each key, what is valid, what it means and what holds without it. The check of a
 * file, the documentation and the JSON Schema for editors are made from this. It loads no package, so that whoever has
 * no file need not wait for one.
 */
export const SECTIONS = {
  engine: engineSection,
  limits: limitsSection,
  defaults: defaultsSection,
  tools: toolsSection,
  threads: threadsSection,
  processes: processesSection,
  secrets: secretsSection,
  store: storeSection,
  server: serverSection,
  mcp: mcpSection,
  tasks: tasksSection,
};

/** What the file says, in its own words, checked and with the defaults filled in. */
export type Settings = { readonly [K in keyof typeof SECTIONS]: ValueOf<(typeof SECTIONS)[K]> };

/** What holds where neither the file nor the environment says anything. */
export const DEFAULTS = Object.fromEntries(
  Object.entries(SECTIONS).map(([name, section]) => [name, section.default]),
) as Settings;
