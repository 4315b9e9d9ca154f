import { chmodSync, chownSync, lchownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defaultConfig } from '../../src/config/config.ts';
import { findConfig, loadConfig } from '../../src/config/load.ts';
import { codeOf, rejectionOf } from '../engine/support/errors.ts';
import { folderWith } from './support/folder.ts';

describe('the file', () => {
  it('is found in the working directory and in every folder above, the nearest first', () => {
    const folder = folderWith({ 'volley.toml': '', 'a/b/volley.toml': '', 'a/b/c/d/x.txt': '' });
    expect(findConfig(folder)).toBe(join(folder, 'volley.toml'));
    expect(findConfig(join(folder, 'a'))).toBe(join(folder, 'volley.toml'));
    expect(findConfig(join(folder, 'a/b/c/d'))).toBe(join(folder, 'a/b/volley.toml'));
  });

  it('is not a folder of that name', () => {
    const folder = folderWith({ 'volley.toml': '', 'a/volley.toml/x.txt': '' });
    expect(findConfig(join(folder, 'a'))).toBe(join(folder, 'volley.toml'));
  });

  it('need not exist', async () => {
    const folder = folderWith();
    expect(await loadConfig({ cwd: folder, env: {} })).toMatchObject({
      config: defaultConfig(folder),
      file: undefined,
    });
  });

  it('must exist where it is named', async () => {
    const folder = folderWith();
    const error = await rejectionOf(loadConfig({ cwd: folder, file: 'my.toml', env: {} }));
    expect(codeOf(error)).toBe('INVALID_CONFIG');
    expect((error as Error).message).toContain(`${join(folder, 'my.toml')}: the file does not exist.`);
  });

  it('may have another name and place, from the working directory', async () => {
    const folder = folderWith({ 'etc/my.toml': '[limits]\nmax_concurrency = 3' });
    const { config, file } = await loadConfig({ cwd: folder, file: 'etc/my.toml', env: {} });
    expect(file).toBe(join(folder, 'etc/my.toml'));
    expect(config.limits.maxConcurrency).toBe(3);
    expect(config.folder).toBe(join(folder, 'etc'));
  });

  it.each([
    ['a folder', 'folder', 'this is a folder, not a file.'],
    ['not UTF-8', 'latin.toml', 'the file is not valid UTF-8'],
    ['too large', 'large.toml', 'the file is larger than 1 MB.'],
  ])('is refused where it is %s', async (_, file, problem) => {
    const folder = folderWith({ 'large.toml': `# ${'x'.repeat(2 ** 20)}` });
    mkdirSync(join(folder, 'folder'));
    writeFileSync(join(folder, 'latin.toml'), Buffer.from([0x23, 0xe4, 0xff]));
    const error = await rejectionOf(loadConfig({ cwd: folder, file, env: {} }));
    expect((error as Error).message).toContain(problem);
  });

  it('may begin with a byte order mark and have lines that end as on Windows', async () => {
    const folder = folderWith({ 'volley.toml': '\uFEFF[threads]\r\nmax = 7\r\n' });
    expect((await loadConfig({ cwd: folder, env: {} })).config.threads.max).toBe(7);
  });
});

describe('a file that somebody else may have put there', () => {
  const OTHER_USER = 1234;
  const isRoot = process.getuid?.() === 0;

  async function expectRefusal(folder: string, problem: string) {
    mkdirSync(join(folder, 'a'));
    const error = await rejectionOf(loadConfig({ cwd: join(folder, 'a'), env: {} }));
    expect(codeOf(error)).toBe('INVALID_CONFIG');
    expect((error as Error).message).toContain(`${join(folder, 'volley.toml')}: ${problem}`);
    expect((error as Error).message).toContain('--config');
  }

  it('is refused where everybody may write to it', async () => {
    const folder = folderWith({ 'volley.toml': '' });
    chmodSync(join(folder, 'volley.toml'), 0o646);
    await expectRefusal(folder, 'everyone can write to the file');
  });

  it.runIf(isRoot)('is refused where it belongs to another user', async () => {
    const folder = folderWith({ 'volley.toml': '' });
    chownSync(join(folder, 'volley.toml'), OTHER_USER, OTHER_USER);
    await expectRefusal(folder, `the file belongs to another user (${OTHER_USER}; you are 0)`);
  });

  it.runIf(isRoot)("is refused where another user's link leads to a file of one's own", async () => {
    const folder = folderWith({ 'own.toml': '' });
    symlinkSync('own.toml', join(folder, 'volley.toml'));
    lchownSync(join(folder, 'volley.toml'), OTHER_USER, OTHER_USER);
    await expectRefusal(folder, 'the file belongs to another user');
  });

  it("is taken where it is one's own link", () => {
    const folder = folderWith({ 'own.toml': '' });
    symlinkSync('own.toml', join(folder, 'volley.toml'));
    expect(findConfig(folder)).toBe(join(folder, 'volley.toml'));
  });

  it('is taken where it is named', async () => {
    const folder = folderWith({ 'volley.toml': '[threads]\nmax = 7' });
    const file = join(folder, 'volley.toml');
    chmodSync(file, 0o666);
    if (isRoot) chownSync(file, OTHER_USER, OTHER_USER);
    expect((await loadConfig({ file, env: {} })).config.threads.max).toBe(7);
  });
});

describe('what is loaded', () => {
  it('is everything that the file says, in the words of the rest of Volley', async () => {
    const folder = folderWith({ 'data/x.txt': '', 'volley.toml': EVERYTHING });
    const { config } = await loadConfig({ cwd: folder, env: {}, trusted: true });
    const { trust, ...rest } = config;
    expect(trust).toMatchObject({ status: 'trusted', waiting: [] });
    expect(rest).toEqual({
      folder,
      engine: { plan: 'off', ageingMs: 1, reserveAfterMs: 2, graceMs: 3, retainSettled: 4, eventLogSize: 16 },
      limits: {
        maxConcurrency: 5,
        limits: expect.objectContaining({
          cpu: 1.5,
          memoryMb: 6,
          ioOperations: 7,
          networkOperations: 8,
        }),
        resources: { gpu: 2, 'license-seat': 0.5 },
        tools: {
          'fetch.page': { maxConcurrency: 2, rate: { count: 3, perMs: 4 } },
          plain: {},
        },
        groups: { 'my group': { rate: { count: 1, perMs: 9 } } },
      },
      defaults: {
        priority: 'background',
        timeoutMs: 10,
        retry: { maxRetries: 1, delayMs: 2, factor: 3, maxDelayMs: 4, jitter: 0 },
        maxOutages: 6,
      },
      tools: {
        allow: ['a*'],
        deny: ['b?'],
        modules: ['./t/*.mjs'],
        roots: [join(folder, 'data'), folder],
        protected: ['c/**'],
        writable: ['.vscode/**'],
      },
      files: { maxBytes: 1, maxEntries: 2 },
      http: {
        enabled: true,
        allowPrivate: true,
        allowHosts: ['*.x.org'],
        maxBytes: 3,
        maxRedirects: 0,
        timeoutMs: 4,
      },
      shell: { enabled: true, shell: ['/bin/bash', '-e', '-c'], env: ['A'], network: true },
      threads: { max: 2 },
      processes: {
        sandbox: 'off',
        learnUsage: false,
        limits: {
          memoryMb: 16,
          cpuMs: 1,
          openFiles: 17,
          processes: 2,
          diskMb: 18,
          outputBytes: 3,
          resultBytes: 4,
        },
      },
      secrets: { names: ['MY_*'], maxTextLength: 99 },
      store: { file: join(folder, 'data/batches.db'), logMb: 5, taskLogMb: 2 },
      cache: { enabled: false, maxMb: 3, maxAgeDays: 4 },
      cluster: {
        url: 'rediss://user@queue.example',
        prefix: 'nightly',
        artifacts: join(folder, 'data/shared'),
        placement: 'pack',
        agents: 3,
        repositories: [join(folder, 'data')],
      },
      server: {
        host: '::1',
        port: 8080,
        allowedHosts: ['volley.example.org'],
        allowedOrigins: ['https://tools.example.org'],
        graceMs: 1,
        sessionMs: 1000,
        logLevel: 'warn',
        limits: {
          maxBodyBytes: 1024,
          maxDepth: 8,
          maxConnections: 2,
          headerTimeoutMs: 100,
          requestTimeoutMs: 101,
          requestsPerSecond: 3,
          streams: 4,
        },
        tls: { certificate: join(folder, 'data/server.crt'), key: join(folder, 'data/server.key') },
        tokens: { ci: { hash: `sha256:${'a'.repeat(64)}`, scope: 'run' } },
      },
      mcpServer: { profile: 'small', keepRunsMs: 172_800_000 },
      mcp: {
        servers: {
          files: {
            connection: {
              kind: 'stdio',
              command: 'npx',
              args: ['-y', 'some-server'],
              cwd: join(folder, 'data'),
              env: { TOKEN: 'env:MY_TOKEN' },
            },
            roots: [join(folder, 'data')],
            maxConcurrent: 2,
            ratePerMinute: 3,
            startTimeoutMs: 4,
            callTimeoutMs: 5,
            maxResultBytes: 1024,
            allow: ['read_*'],
            deny: ['x'],
            allowDestructive: ['write'],
            parallel: 'none',
            tools: { write: { parallel: true, lock: 'path', resources: { gpu: 1 } } },
          },
          tickets: {
            connection: { kind: 'http', url: 'https://x.org/mcp', headers: { Authorization: 'env:T' } },
            roots: [],
            maxConcurrent: 8,
            ratePerMinute: undefined,
            startTimeoutMs: 30_000,
            callTimeoutMs: undefined,
            maxResultBytes: 1_048_576,
            allow: ['*'],
            deny: [],
            allowDestructive: [],
            parallel: 'read-only',
            tools: {},
          },
        },
      },
      tasks: {
        workers: true,
        agent: 'codex',
        maxConcurrent: 2,
        worktrees: true,
        review: true,
        maxUnreviewed: 3,
        timeoutMs: 3000,
        stallMs: 4000,
        maxRetries: 5,
        deniedPaths: ['*.pem'],
        allowedCommands: ['npm test'],
        allowedAgents: ['claude'],
        setup: 'npm ci',
        promptFile: join(folder, 'data/prompt.md'),
        budget: { turns: 6, tokens: 7, cost: 0.5 },
        agents: {
          CoderAgent: { adapter: 'claude', model: 'm', command: ['npx', 'claude'], env: { DEPTH: '2' } },
        },
      },
      askAgent: { enabled: true, worktrees: false },
      models: {
        fast: {
          url: 'http://127.0.0.1:1/v1',
          api: 'anthropic',
          model: 'tiny',
          key: 'env:KEY',
          maxTokens: 9,
          timeoutMs: 10,
          inputCost: 0.5,
          outputCost: 2,
        },
      },
    });
  });

  it('keeps the defaults of what a section does not mention', async () => {
    const folder = folderWith({ 'volley.toml': '[limits]\ncpu = 1\n[tools.shell]\nenabled = true' });
    const { config } = await loadConfig({ cwd: folder, env: {}, trusted: true });
    const defaults = defaultConfig(folder);
    expect(config).toEqual({
      ...defaults,
      trust: config.trust,
      limits: { ...defaults.limits, limits: { ...defaults.limits.limits, cpu: 1 } },
      shell: { ...defaults.shell, enabled: true },
    });
  });

  it('takes what agents are told of their subtask for no setting', async () => {
    const told = {
      VOLLEY_TASKS_PROJECT: '/x',
      VOLLEY_WORKSPACE: '/y',
      VOLLEY_AGENT: 'a',
      VOLLEY_SUBTASK: '01',
    };
    const folder = folderWith({});
    expect((await loadConfig({ cwd: folder, env: told })).config).toEqual(defaultConfig(folder));
    const typo = { VOLLEY_TASKS_PROJEKT: '/x' };
    expect(codeOf(await rejectionOf(loadConfig({ cwd: folder, env: typo })))).toBe('INVALID_CONFIG');
  });

  it('takes a name such as __proto__ for what it is', async () => {
    const folder = folderWith({ 'volley.toml': '[limits.groups.__proto__]\nmax_concurrency = 2' });
    const { config } = await loadConfig({ cwd: folder, env: {} });
    expect(Object.getPrototypeOf(config.limits.groups)).toBe(Object.prototype);
    expect({}).not.toHaveProperty('max_concurrency');
  });
});

const EVERYTHING = `
[tasks]
workers = true
agent = "codex"
max_concurrent = 2
worktrees = true
review = true
max_unreviewed = 3
timeout = 3
stall = 4
max_retries = 5
denied_paths = ["*.pem"]
allowed_commands = ["npm test"]
allowed_agents = ["claude"]
setup = "npm ci"
prompt = "data/prompt.md"
budget = { turns = 6, tokens = 7, cost = 0.5 }
[tasks.agents.CoderAgent]
adapter = "claude"
model = "m"
command = ["npx", "claude"]
env = { DEPTH = "2" }
[engine]
plan = "off"
ageing_ms = 1
reserve_after_ms = 2
grace_ms = 3
retain_settled = 4
event_log_size = 16
[limits]
max_concurrency = 5
cpu = 1.5
memory_mb = 6
io_operations = 7
network_operations = 8
[limits.resources]
gpu = 2
license-seat = 0.5
[limits.tools]
"fetch.page" = { max_concurrency = 2, rate = { count = 3, per_ms = 4 } }
plain = {}
[limits.groups."my group".rate]
count = 1
per_ms = 9
[defaults]
priority = "background"
timeout_ms = 10
retry = { max_retries = 1, delay_ms = 2, factor = 3, max_delay_ms = 4, jitter = 0 }
max_outages = 6
[tools]
protected = ['c/**']
writable = ['.vscode/**']
allow = ["a*"]
deny = ["b?"]
modules = ["./t/*.mjs"]
roots = ["data", ".", "./data"]
files.max_bytes = 1
files.max_entries = 2
[tools.http_request]
enabled = true
allow_private = true
allow_hosts = ["*.x.org"]
max_bytes = 3
max_redirects = 0
timeout_ms = 4
[tools.shell]
enabled = true
program = ["/bin/bash", "-e", "-c"]
env = ["A"]
network = true
[threads]
max = 2
[processes]
sandbox = "off"
learn_usage = false
memory_mb = 16
cpu_ms = 1
open_files = 17
processes = 2
disk_mb = 18
output_bytes = 3
result_bytes = 4
[secrets]
names = ["MY_*"]
max_text_length = 99
[cluster]
url = "rediss://user@queue.example"
prefix = "nightly"
artifacts = "data/shared"
placement = "pack"
agents = 3
repositories = ["data"]

[store]
file = "data/batches.db"
log_mb = 5
task_log_mb = 2
[cache]
enabled = false
max_mb = 3
max_age_days = 4

[server]
host = "::1"
port = 8080
allowed_hosts = ["volley.example.org"]
allowed_origins = ["https://tools.example.org"]
grace_ms = 1
session_ms = 1000
log_level = "warn"
limits = { max_body_bytes = 1024, max_depth = 8, max_connections = 2, header_timeout_ms = 100, request_timeout_ms = 101, requests_per_second = 3, streams = 4 }
tls = { certificate = "data/server.crt", key = "data/server.key" }
tokens.ci = { hash = "sha256:${'a'.repeat(64)}", scope = "run" }

[mcp_server]
profile = "small"
forget_runs_after_days = 2

[mcp.servers.files]
command = "npx"
args = ["-y", "some-server"]
cwd = "data"
env = { TOKEN = "env:MY_TOKEN" }
roots = ["data"]
max_concurrent = 2
rate_per_minute = 3
start_timeout_ms = 4
call_timeout_ms = 5
max_result_bytes = 1024
allow = ["read_*"]
deny = ["x"]
allow_destructive = ["write"]
parallel = "none"
tools.write = { parallel = true, lock = "path", resources = { gpu = 1 } }
[mcp.servers.tickets]
url = "https://x.org/mcp"
headers = { Authorization = "env:T" }
[tools.ask_agent]
enabled = true
[models.fast]
url = "http://127.0.0.1:1/v1"
api = "anthropic"
model = "tiny"
key = "env:KEY"
max_tokens = 9
timeout_ms = 10
input_cost = 0.5
output_cost = 2
`;
