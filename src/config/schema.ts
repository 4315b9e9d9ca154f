import { availableParallelism, totalmem } from 'node:os';
import { MAX_SPAN_MS } from '../core/numbers.ts';
import { PRIORITIES } from '../core/priority.ts';
import { RESOURCE_NAME, resourceNameProblem } from '../core/resource-names.ts';
import { type ByConfigKey, defaultLimits, RESOURCE_TABLE } from '../core/resource-table.ts';
import {
  choice,
  flag,
  globRule,
  type Libraries,
  numbers,
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
import { parseS3Address, S3_SCHEME } from './s3-address.ts';

const engineSection = table('Planning, aging, stopping and retention.', {
  plan: choice(['auto', 'off'], {
    does: 'Whether starts are planned ahead. `auto` does so when durations are known and planning is expected to be faster; `off` always starts the most urgent call that fits.',
    default: 'auto',
  }),
  ageing_ms: wholeNumber({
    does: 'How much waiting makes up for one priority level: after this time, a `low` call is as urgent as a new `normal` one.',
    default: 30_000,
    min: 1,
    max: MAX_SPAN_MS,
  }),
  reserve_after_ms: wholeNumber({
    does: 'How long a large call that does not fit waits before resources are reserved for it, so that small calls cannot starve it.',
    default: 5000,
    min: 0,
    max: MAX_SPAN_MS,
  }),
  grace_ms: wholeNumber({
    does: 'How long a stopped call may keep its resources before they are released.',
    default: 5000,
    min: 0,
    max: MAX_SPAN_MS,
  }),
  retain_settled: wholeNumber({
    does: 'How many ended calls can still be found by id.',
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
  'How often calls may start: at most `count` in any `per_ms` milliseconds. Both keys are required. Example: `rate = { count = 10, per_ms = 1000 }`.',
  {
    count: requiredNumber({ does: 'The maximum number of starts in the period.', min: 1, max: 1_000_000 }),
    per_ms: requiredNumber({ does: 'The length of the period.', min: 1, max: MAX_SPAN_MS }),
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
  valid: '1 to 128 letters, digits, "_", "-" or ".", starting with a letter or "_"',
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

const namedResources = (description: string, does: string) =>
  numbers(
    description,
    {
      valid: `${RESOURCE_NAME.valid}; names of built-in resources are reserved`,
      isValid: (name) => resourceNameProblem(name) === undefined,
    },
    { does, defaultText: 'none', min: 0, max: 1_000_000_000 },
  );

const limitsSection = table(
  'How much may run at once. These keys take effect while Volley runs: running calls keep their resources, waiting calls are reconsidered.',
  {
    max_concurrency: wholeNumber({
      does: 'How many calls of all tools together may run at once.',
      default: 64,
      min: 1,
      max: 1_000_000,
    }),
    ...resourceLimits,
    resources: namedResources(
      'Resources of your own, by name: anything that calls share and that can be counted, such as `gpu = 2`, `license = 5` or `browser = 4`. A call that needs one says so in its `resources`, and so can a tool.',
      'How much there is of this resource.',
    ),
    tools: tables(TOOL_NAME, sharedLimits('tool')),
    groups: tables(ANY_NAME, sharedLimits('group')),
  },
);

const retry = table('When and how often a failed call is retried.', {
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
    does: 'The factor by which each pause grows.',
    default: 2,
    min: 1,
    max: 100,
  }),
  max_delay_ms: wholeNumber({
    does: 'The maximum pause.',
    default: 30_000,
    min: 0,
    max: MAX_SPAN_MS,
  }),
  jitter: realNumber({
    does: 'The random share of each pause, so that many failures do not retry at once.',
    default: 0.5,
    min: 0,
    max: 1,
  }),
});

const defaultsSection = table('Defaults for calls if neither the caller nor the tool sets a value.', {
  priority: choice([...PRIORITIES, 'medium'], {
    does: 'How urgent a call is; `medium` is an alias of `normal`.',
    default: 'normal',
  }),
  timeout_ms: wholeNumber({
    does: 'How long one attempt of a call may take, from its start.',
    default: 300_000,
    min: 1,
    max: MAX_SPAN_MS,
  }),
  retry: retry,
  max_outages: wholeNumber({
    does: 'How many calls of a batch in a row may fail for the same external reason, such as no network or a refused key. Then the batch stops and leaves the rest open. 0: never.',
    default: 5,
    min: 0,
    max: 1000,
  }),
});

/** The most that is kept in memory of one file, response, output or result. */
const MAX_BYTES = 2 ** 30;

const files = table('The tools `read_file`, `write_file`, `list_directory` and `search_files`.', {
  max_bytes: wholeNumber({
    does: 'The maximum number of bytes of a file to read at once, and to write.',
    default: 1_048_576,
    min: 1,
    max: MAX_BYTES,
  }),
  max_entries: wholeNumber({
    does: 'The maximum number of entries in a listing, or matches in a search.',
    default: 1000,
    min: 1,
    max: 1_000_000,
  }),
});

const askAgent = table(
  'The tool `ask_agent`, which asks coding agents. `[tasks.agents.NAME]` configures them; the other settings of `[tasks]` that limit agents apply, too.',
  {
    enabled: flag({ does: 'Whether the tool exists.', default: false }),
    worktrees: flag({
      does: 'Whether agents may be asked to change files, each in its own git worktree. Their changes stay on branches.',
      default: false,
    }),
  },
);

const httpRequest = table('The tool `http_request`.', {
  enabled: flag({ does: 'Whether the tool exists.', default: false }),
  allow_private: flag({
    does: 'Whether requests to this machine and to private networks are allowed.',
    default: false,
  }),
  allow_hosts: textList(
    {
      does: 'Globs of the host names that requests may go to.',
      default: ['*'],
      examples: ['api.example.org', '*.example.com'],
    },
    (glob, libraries) =>
      /[\s/:@]/.test(glob)
        ? 'must be a host name or a glob of host names such as "*.example.org", without scheme, port or path'
        : globRule(glob, libraries),
  ),
  max_bytes: wholeNumber({
    does: 'The largest response that is read.',
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
    does: 'How long a request may take, including redirects.',
    default: 30_000,
    min: 1,
    max: MAX_SPAN_MS,
  }),
});

const shell = table('The tool `shell`.', {
  enabled: flag({ does: 'Whether the tool exists.', default: false }),
  program: textList({
    does: 'The program that runs commands and its first arguments; the command is appended as the last one.',
    default: ['/bin/sh', '-c'],
    examples: ['/bin/bash', '-c'],
    min: 1,
  }),
  env: textList(
    {
      does: 'The environment variables that commands get; all others are withheld.',
      default: ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ'],
      examples: ['PATH', 'HOME', 'JAVA_HOME'],
    },
    (name) =>
      /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
        ? undefined
        : 'must be the name of an environment variable such as "PATH"',
  ),
  network: flag({
    does: 'Whether commands in the sandbox may use the network. Outside a sandbox it is not blocked.',
    default: false,
  }),
});

const nameRule = (glob: string, libraries: Libraries) =>
  /[^\w.\-*?[\]{}()!,|+@^]/.test(glob)
    ? 'must be a name of a tool or a glob of such names, such as "read_*"'
    : globRule(glob, libraries);

const toolsSection = table('Which tools exist and what they may access.', {
  allow: textList(
    {
      does: 'Globs of the tools that may be called.',
      default: ['*'],
      examples: ['read_*', 'search_files'],
    },
    nameRule,
  ),
  deny: textList(
    {
      does: 'Globs of the tools that may not be called, even if `allow` matches them.',
      default: [],
      examples: ['write_*', 'shell'],
    },
    nameRule,
  ),
  modules: textList(
    {
      does: "Modules with your own tools: paths or globs relative to the file's folder, loaded in this order. TypeScript needs Node 22.18 or newer.",
      default: [],
      examples: ['./tools/*.mjs'],
    },
    globRule,
  ),
  roots: textList({
    does: "The folders in which file tools and processes may work, relative to the file's folder; each must exist. Relative paths passed to a tool start at the first one.",
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
  ask_agent: askAgent,
});

const threadsSection = table('Tools with `isolation: "thread"`.', {
  max: wholeNumber({
    does: 'The maximum number of threads. They start on demand.',
    default: availableParallelism(),
    defaultText: 'the number of cores of this machine',
    min: 1,
    max: 1024,
  }),
});

const processesSection = table(
  'Tools with `isolation: "process"`, and the tool `shell`. The limits apply to each call; a tool can set its own.',
  {
    sandbox: choice(['auto', 'required', 'off'], {
      does: '`auto` uses the sandbox layers that this system supports, `required` refuses to run a process if one is missing (polling the processes may replace cgroups), `off` uses none.',
      default: 'auto',
    }),
    learn_usage: flag({
      does: 'Whether a call that claims no memory or CPU needs as much as most earlier calls of its tool really used, instead of 100 MB and 0.1 cores. It is measured in any case.',
      default: true,
    }),
    memory_mb: wholeNumber({
      does: 'The memory of all processes of a call together. A call that exceeds it is killed.',
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
      does: 'How many processes a call may have at once. A call that exceeds it is killed.',
      default: 64,
      min: 1,
      max: 1_000_000,
    }),
    disk_mb: wholeNumber({
      does: 'The largest file that a call may write, and the total that its processes may write to disk. A call that exceeds it is killed.',
      default: 10_240,
      min: 1,
      max: 1_000_000_000,
    }),
    output_bytes: wholeNumber({
      does: 'How much a call may write to stdout and stderr together. A call that exceeds it is killed.',
      default: 10_485_760,
      min: 1,
      max: MAX_BYTES,
    }),
    result_bytes: wholeNumber({
      does: 'The largest result of a call.',
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
        does: 'Globs of the names of environment variables and fields whose values are hidden. Setting it replaces these defaults.',
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
      does: "The maximum number of characters of a tool's step or error text to pass on.",
      default: 2000,
      min: 16,
      max: 1_000_000,
    }),
  },
);

/** The file is read by many, and the address is shown. */
function storeUrlProblem(address: string): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol) || url.pathname.includes('@'))
    return 'must have the form "postgres://user@host:5432/database"';
  const hasPassword = url.password !== '' || url.searchParams.has('password');
  return hasPassword ? 'must not contain a password: use PGPASSWORD or ~/.pgpass' : undefined;
}

const storeSection = table('Where batches and their results are stored.', {
  file: text({
    does: 'The SQLite database file, relative to the folder of `volley.toml`. It is created when the first task is added.',
    default: '.volley/volley.db',
  }),
  url: optionalText(
    'A PostgreSQL database to use instead of the file, such as `postgres://user@host:5432/database?sslmode=verify-full`; see docs/store.md. The password comes from `PGPASSWORD` or `~/.pgpass`.',
    { defaultText: 'none: batches are in the file', rule: storeUrlProblem },
  ),
  log_mb: wholeNumber({
    does: 'The size of what all tasks printed and logged together. Beyond it, the oldest output is dropped.',
    default: 256,
    min: 1,
    max: 1_048_576,
  }),
  task_log_mb: wholeNumber({
    does: 'The same of one task. Its oldest lines are dropped.',
    default: 16,
    min: 1,
    max: 1024,
  }),
});

const cacheSection = table(
  'Results of functions that declare what they read (see docs/batch.md). They are kept in the store.',
  {
    enabled: flag({ does: 'Whether results are cached.', default: true }),
    max_mb: wholeNumber({
      does: 'The size of all cached results together. Beyond it, those that were not used for the longest time are deleted.',
      default: 256,
      min: 1,
      max: 1_048_576,
    }),
    max_age_days: wholeNumber({
      does: 'How old a cached result may be.',
      default: 30,
      min: 1,
      max: 3650,
    }),
  },
);

function artifactsProblem(place: string): string | undefined {
  if (!place.startsWith(S3_SCHEME)) return undefined;
  const address = parseS3Address(place);
  return 'problem' in address ? address.problem : undefined;
}

const clusterSection = table(
  'Workers on other machines; see docs/cluster.md. The key that all of them share is in the environment variable `VOLLEY_CLUSTER_KEY`.',
  {
    url: optionalText(
      'The Redis server, such as `redis://host:6379`; `rediss://` uses TLS. `volley run` then runs its calls on the workers.',
      { defaultText: 'none: everything runs on this machine' },
    ),
    prefix: text({
      does: 'The start of all keys on the server. Clusters with different prefixes share nothing.',
      default: 'volley',
    }),
    artifacts: optionalText(
      'Where arguments, results and files of more than 64 KB are while they travel, so that they may have up to 64 MB: a folder that all machines share, relative to the folder of `volley.toml`, or a bucket, such as `s3://bucket/prefix?endpoint=https://host:9000&region=eu-central-1`. Its credentials come from `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.',
      { defaultText: 'none: the Redis server, up to 4 MB', rule: artifactsProblem },
    ),
    share: optionalText(
      'A name for the files of this folder. Calls of tools that use files run only on workers with the same name, so give it to machines that have the same files in the same place.',
      { defaultText: 'an id in `.volley/share-id`, which is the same for all who share the folder' },
    ),
    agents: wholeNumber({
      does: 'How many coding agents `volley worker` runs at once for the subtasks of features. It runs only agents that `[tasks]` names on its own machine. 0 runs none.',
      default: 0,
      min: 0,
      max: 1000,
    }),
    repositories: textList({
      does: 'The folders of the git repositories in which a worker lets agents work, relative to the folder of `volley.toml`. A run gets a worker with a clone of its own repository.',
      default: ['.'],
      examples: ['../backend'],
    }),
    placement: choice(['spread', 'pack'], {
      does: 'Among the workers on which a call fits: `spread` takes the least loaded, `pack` the most loaded.',
      default: 'spread',
    }),
  },
);

/** From the most to the least output. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

const token = table(
  'A client that may use the server, by name; `volley token NAME` prints the lines to add. Only the client keeps the token itself.',
  {
    hash: requiredText('The SHA-256 of the token: `sha256:` and 64 hexadecimal digits.', 71, (hash) =>
      /^sha256:[\da-f]{64}$/.test(hash) ? undefined : 'must be "sha256:" and 64 hexadecimal digits',
    ),
    scope: choice(['read', 'run', 'admin'], {
      does: 'What it may do: `read` sees everything, `run` also adds, starts, stops, cancels and retries, `admin` also clears. Each scope includes the previous ones.',
      default: 'read',
    }),
  },
);

const TOKEN_NAME = {
  pattern: /^[A-Za-z_][\w.-]{0,63}$/,
  valid: '1 to 64 letters, digits, "_", "-" or ".", starting with a letter or "_"',
};

const serverSection = table('`volley serve`: the HTTP API and the dashboard.', {
  host: text({
    does: 'The address to listen on. Non-loopback addresses need tokens and should use TLS.',
    default: '127.0.0.1',
  }),
  port: optionalNumber({
    does: 'The port to listen on; 0 picks a free one.',
    defaultText: '7717, or a free one where that is taken',
    min: 0,
    max: 65_535,
  }),
  allowed_hosts: textList(
    {
      does: 'Host names that clients may use for the server, besides `localhost` and addresses; a name with a port allows that port only. Others are rejected, which prevents DNS rebinding.',
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
      does: 'Other origins whose pages may call the API, with their own token.',
      default: [],
      examples: ['https://tools.example.org'],
    },
    (origin) =>
      URL.canParse(origin) && new URL(origin).origin === origin
        ? undefined
        : 'must be an origin such as "https://tools.example.org"',
  ),
  grace_ms: wholeNumber({
    does: 'How long running tasks may continue after the server is asked to stop.',
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
    does: 'The log level. `debug` logs every request.',
    default: 'info',
  }),
  limits: table('Limits per client. Requests beyond them are rejected.', {
    max_body_bytes: wholeNumber({
      does: 'The largest request body.',
      default: 16_777_216,
      min: 1024,
      max: 2 ** 30,
    }),
    max_depth: wholeNumber({
      does: 'How deeply the JSON of a request may be nested.',
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
      does: 'How long a client may take to send the request headers.',
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
      does: 'How many requests each token, session and address may send on average; bursts may be twice as large.',
      default: 200,
      min: 1,
      max: 10_000_000,
    }),
    streams: wholeNumber({
      does: 'How many event streams each token, session and address may keep open.',
      default: 64,
      min: 1,
      max: 1_000_000,
    }),
  }),
  tls: table(
    'Certificate files. If both are set, the server uses HTTPS.',
    {
      certificate: optionalText(
        'The certificate chain in PEM format, relative to the folder of `volley.toml`.',
        { max: 1024 },
      ),
      key: optionalText('Its private key in PEM format.', { max: 1024 }),
    },
    ({ certificate, key }, context) => {
      // Either one alone would leave the server open without anybody noticing.
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
  'A value `"env:NAME"`, or one that ends in it (`"Bearer env:NAME"`), is replaced by that environment variable, which is never shown.';

const tool = table("How calls of one tool may run in parallel, by the server's name for it.", {
  parallel: optionalFlag(
    'Whether its calls run in parallel with others on the server. Set `true` for a tool that is safe although it does not declare itself read-only, `false` for one that is not safe.',
    'by `parallel` of the server',
  ),
  lock: optionalText(
    'The name of an argument: calls with different values run in parallel, calls with the same value one after the other.',
  ),
  resources: namedResources(
    'How much a call needs of named resources, such as `resources = { browser = 1 }`. They are declared in `[limits.resources]`.',
    'How much of this resource a call holds while it runs.',
  ),
});

const server = table(
  'An MCP server whose tools become functions for batches, named `NAME.tool`. It starts when the first one is needed. Set `command` for a local program or `url` for a remote server.',
  {
    command: optionalText('The server program, which communicates over stdin and stdout.'),
    args: textList({
      does: 'The arguments of the program.',
      default: [],
      examples: ['-y', 'some-server'],
    }),
    cwd: optionalText('The working directory of the program.', { defaultText: 'the folder of the file' }),
    env: texts(
      `The environment variables of the program, besides the usual ones (\`PATH\`, \`HOME\`, \`USER\`, \`LANG\`, \`LC_ALL\`, \`TZ\`, \`TMPDIR\`). ${REFERENCE}`,
      VARIABLE_NAME,
      'The value of the variable.',
    ),
    url: optionalText('The URL of a streamable HTTP server.'),
    headers: texts(
      `Headers sent with every request. ${REFERENCE}`,
      {
        pattern: /^[!#$%&'*+.^_`|~\w-]{1,128}$/,
        valid: 'the name of a header such as "Authorization"',
      },
      'The value of the header.',
    ),
    roots: optionalList({
      does: 'The folders that the server is given to work in. With `[]` it gets none, and its own arguments decide.',
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
      does: 'How many calls may start per minute.',
      defaultText: 'no limit',
      min: 1,
      max: 1_000_000,
    }),
    start_timeout_ms: wholeNumber({
      does: 'How long the server may take to start and list its tools.',
      default: 30_000,
      min: 1,
      max: MAX_SPAN_MS,
    }),
    call_timeout_ms: optionalNumber({
      does: 'How long a call may take, unless it sets its own limit.',
      defaultText: '`defaults.timeout_ms`',
      min: 1,
      max: MAX_SPAN_MS,
    }),
    max_result_bytes: wholeNumber({
      does: 'The largest result. Longer text is truncated with a note; larger data fails the call.',
      default: 1_048_576,
      min: 1024,
      max: 2 ** 23,
    }),
    allow: textList(
      {
        does: "Globs of the tools that may be called, by the server's names.",
        default: ['*'],
        examples: ['read_*'],
      },
      globRule,
    ),
    deny: textList(
      {
        does: 'Globs of the tools that may not be called, even if `allow` matches them.',
        default: [],
        examples: ['delete_*'],
      },
      globRule,
    ),
    allow_destructive: textList({
      does: 'The full names of tools that may be called although the server marks them as destructive.',
      default: [],
      examples: ['write_file', 'edit_file'],
    }),
    parallel: choice(['read-only', 'all', 'none'], {
      does: 'Which calls run in parallel: `read-only` those of tools declared read-only, and all others alone; `all` every call; `none` one at a time.',
      default: 'read-only',
    }),
    tools: tables(ANY_NAME, tool),
  },
  ({ command, url, args, cwd, env, headers }, context) => {
    const misplaced = (name: string, owner: string) =>
      context.addIssue({ code: 'custom', message: `works only with ${owner}`, path: [name] });
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
  valid: '1 to 64 letters, digits, "_" or "-", starting with a letter or "_"',
};

const mcpSection = table('Other MCP servers.', {
  servers: tables(SHORT_NAME, server),
});

const mcpServerSection = table('The MCP server: `volley mcp`, and `/mcp` of `volley serve`.', {
  profile: choice(['default', 'small'], {
    does: 'Which tools clients see. Their definitions are read by the model in every turn: `small` has only those for programs, batches, results and search.',
    default: 'default',
  }),
  forget_runs_after_days: wholeNumber({
    does: 'After how many days an unnamed batch of `run_batch` or `run_program` is deleted with its results. Running batches are kept.',
    default: 7,
    min: 1,
    max: 36_500,
  }),
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
  'An agent, by the name that subtasks use. Every agent with a table here may get subtasks.',
  {
    adapter: optionalText(
      'How it is started: `claude`, `codex`, `opencode`, `gemini`, `qwen`, or `command` for any other program.',
      { defaultText: '`command` where there is one, otherwise the name of the agent' },
    ),
    model: optionalText('The model to use.', { defaultText: "the agent's own choice" }),
    command: optionalList({
      does: 'The program and its arguments, used as they are. For the adapter `command` it is required; for the others it replaces the default program.',
      examples: ['node', 'agents/coder.mjs'],
      defaultText: 'by the adapter',
      min: 1,
      maxText: 4096,
    }),
    env: texts('Additional environment variables.', VARIABLE_NAME, 'The value of the variable.'),
    agents: optionalList({
      does: 'Other agents, in order, instead of one of its own: the first attempt goes to the first, the next attempt to the next.',
      examples: ['codex', 'claude'],
      defaultText: 'none',
      min: 1,
      maxText: 64,
    }),
  },
);

const tasksSection = table('`volley tasks run`: agents that work on the subtasks of a feature.', {
  agent: optionalText('The agent of subtasks that do not suggest one.'),
  max_concurrent: wholeNumber({
    does: 'How many agents run at once.',
    default: 4,
    min: 1,
    max: 1000,
  }),
  worktrees: flag({
    does: 'Whether each agent works in a git worktree of its own, which is merged once its work is verified.',
    default: false,
  }),
  workers: flag({
    does: 'Whether agents run on the workers of `cluster.url`, as with `volley tasks run --on`. This needs worktrees, and turns them on.',
    default: false,
  }),
  review: flag({
    does: 'Whether verified work waits for `volley tasks approve` before it is merged. This needs worktrees, and turns them on.',
    default: false,
  }),
  max_unreviewed: wholeNumber({
    does: 'With `review`: how many subtasks may be in work or wait for review at once. Then no more agents start.',
    default: 10,
    min: 1,
    max: 1000,
  }),
  timeout: wholeNumber({
    does: 'How many seconds an attempt at a subtask may take.',
    default: 3600,
    min: 1,
    max: A_WEEK_SECONDS,
  }),
  stall: wholeNumber({
    does: 'After how many seconds without output an agent counts as stuck and is killed.',
    default: 600,
    min: 1,
    max: A_WEEK_SECONDS,
  }),
  max_retries: wholeNumber({
    does: 'How often a subtask is retried. The prompt of the next attempt says what was missing.',
    default: 1,
    min: 0,
    max: 100,
  }),
  denied_paths: textList(
    {
      does: 'Globs of paths that no agent may change. A subtask that does fails, and none of its work is merged.',
      default: ['**/*.env*', '**/*.key', '**/*.secret', '.git/**'],
      examples: ['**/*.env*', '.git/**'],
    },
    globRule,
  ),
  allowed_commands: textList({
    does: 'Prefixes of the shell commands that agents may run, for agents that can enforce it. `[]` allows all.',
    default: [],
    examples: ['npm test', 'git diff'],
  }),
  allowed_agents: textList({
    does: 'The agents that may get subtasks, besides `agent` and those in `[tasks.agents]`. All others are rejected.',
    default: [],
    examples: ['codex', 'claude'],
  }),
  setup: optionalText('A shell command to run first in every new worktree, such as `npm ci`.'),
  prompt: optionalText('The prompt template file, relative to the folder of `volley.toml`.', {
    defaultText: "Volley's own",
  }),
  budget: table(
    'The budget of one subtask over all its attempts, as far as its agent reports usage. Exceeding it ends the subtask with the reason `budget`.',
    {
      turns: optionalNumber({ does: 'Model turns.', min: 1, max: 1_000_000, ...NO_LIMIT }),
      tokens: optionalNumber({
        does: 'Input and output tokens together.',
        min: 1,
        max: 1e12,
        ...NO_LIMIT,
      }),
      cost,
    },
  ),
  agents: tables(SHORT_NAME, agent),
});

/** The reference to an API key. */
export const MODEL_KEY = /^env:([A-Za-z_][A-Za-z0-9_]*)$/;

const price = (does: string): Setting<number | undefined> => ({
  default: undefined,
  schema: ({ z }) =>
    z.number().min(0).max(1_000_000).optional().meta({ description: does, defaultText: 'unknown' }),
});

const model = table(
  'A model that the tool `ask_model` can ask, by the name that calls use. The tool exists if there is at least one.',
  {
    url: requiredText(
      'The base URL of the API, such as `https://api.openai.com/v1` or `https://api.anthropic.com`.',
      2048,
      (url) =>
        URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) && !/^https?:\/*[^/?#]*@/i.test(url)
          ? undefined
          : 'must be an address such as "https://api.openai.com/v1", without a user or password',
    ),
    api: choice(['openai', 'anthropic'], {
      does: 'The API: `openai` for chat completions, which most servers offer, or `anthropic` for messages.',
      default: 'openai',
    }),
    model: requiredText("The API's name for the model.", 256, (name) =>
      name === '' ? 'must not be empty' : undefined,
    ),
    key: requiredText(
      'The environment variable with the API key, as `"env:NAME"`. `""` sends none.',
      256,
      (key) => (key === '' || MODEL_KEY.test(key) ? undefined : 'must be "env:NAME", or "" for no key'),
    ),
    max_tokens: wholeNumber({
      does: 'The maximum number of tokens in an answer.',
      default: 8192,
      min: 1,
      max: 10_000_000,
    }),
    timeout_ms: wholeNumber({
      does: 'How long one request may take.',
      default: 300_000,
      min: 1,
      max: MAX_SPAN_MS,
    }),
    input_cost: price('US dollars per million input tokens. Budgets in dollars need both prices.'),
    output_cost: price('US dollars per million output tokens.'),
  },
);

/**
 * The schema of `volley.toml`: types, valid values, descriptions and defaults. Validation, documentation and the JSON
 * Schema for editors derive from it. It loads no package, so that it is cheap without a file.
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
  cache: cacheSection,
  cluster: clusterSection,
  server: serverSection,
  mcp: mcpSection,
  mcp_server: mcpServerSection,
  tasks: tasksSection,
  models: tables(SHORT_NAME, model),
};

/** The content of the file, validated and with defaults filled in. */
export type Settings = { readonly [K in keyof typeof SECTIONS]: ValueOf<(typeof SECTIONS)[K]> };

/** The defaults. */
export const DEFAULTS = Object.fromEntries(
  Object.entries(SECTIONS).map(([name, section]) => [name, section.default]),
) as Settings;
