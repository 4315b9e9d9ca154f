import { availableParallelism, totalmem } from 'node:os';
import { defaultLimits } from '../core/resource-table.ts';

/**
 * What holds where neither the file nor the environment says anything. It stands apart from the schema, which takes
 * its defaults from here, so that nobody without a configuration has to wait for the schema library to load.
 */
export const DEFAULTS = {
  engine: {
    ageing_ms: 30_000,
    reserve_after_ms: 5000,
    grace_ms: 5000,
    retain_settled: 1000,
    event_log_size: 4096,
  },
  limits: {
    max_concurrency: 64,
    ...defaultLimits('configKey', {
      cores: availableParallelism(),
      memoryMb: Math.floor(totalmem() / 2 ** 20),
    }),
    tools: {},
    groups: {},
  },
  defaults: {
    priority: 'normal',
    timeout_ms: 300_000,
    retry: { max_retries: 0, delay_ms: 1000, factor: 2, max_delay_ms: 30_000, jitter: 0.5 },
  },
  tools: {
    allow: ['*'],
    deny: [],
    modules: [],
    roots: ['.'],
    protected: [],
    writable: [],
    files: { max_bytes: 1_048_576, max_entries: 1000 },
    http_request: {
      enabled: false,
      allow_private: false,
      allow_hosts: ['*'],
      max_bytes: 5_242_880,
      max_redirects: 5,
      timeout_ms: 30_000,
    },
    shell: {
      enabled: false,
      program: ['/bin/sh', '-c'],
      env: ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ'],
      network: false,
    },
  },
  threads: { max: availableParallelism() },
  processes: {
    sandbox: 'auto',
    memory_mb: 1024,
    cpu_ms: 300_000,
    open_files: 1024,
    processes: 64,
    disk_mb: 10_240,
    output_bytes: 10_485_760,
    result_bytes: 10_485_760,
  },
  secrets: {
    names: [
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
    max_text_length: 2000,
  },
  store: { file: '.volley/volley.db' },
  server: {
    host: '127.0.0.1',
    allowed_hosts: [],
    allowed_origins: [],
    grace_ms: 10_000,
    session_ms: 43_200_000,
    log_level: 'info',
    limits: {
      max_body_bytes: 16_777_216,
      max_depth: 64,
      max_connections: 2048,
      header_timeout_ms: 10_000,
      request_timeout_ms: 60_000,
      requests_per_second: 200,
      streams: 64,
    },
    tls: {},
    tokens: {},
  },
  mcp: { servers: {} },
  tasks: {
    max_concurrent: 4,
    worktrees: false,
    timeout: 3600,
    stall: 600,
    max_retries: 1,
    denied_paths: ['**/*.env*', '**/*.key', '**/*.secret', '.git/**'],
    allowed_commands: [],
    allowed_agents: [],
    budget: {},
    agents: {},
  },
} as const;

/** Of each server of `[mcp.servers]`. */
export const MCP_SERVER_DEFAULTS = {
  args: [],
  max_concurrent: 8,
  start_timeout_ms: 30_000,
  max_result_bytes: 1_048_576,
  allow: ['*'],
  deny: [],
  allow_destructive: [],
  parallel: 'read-only',
} as const;
