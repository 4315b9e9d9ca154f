import { resolve } from 'node:path';
import type { SharedLimits } from '../core/catalog.ts';
import { RESOURCE_TABLE, type ResourceLimits } from '../core/resource-table.ts';
import type { ServerSettings, VolleyConfig } from './config.ts';
import { toMcp } from './resolve-mcp.ts';
import { toTasks } from './resolve-tasks.ts';
import type { Settings } from './schema.ts';
import type { WorkspaceTrust } from './trust.ts';

/** Where no file says anything. */
const NOT_NEEDED: WorkspaceTrust = {
  status: 'not-needed',
  command: 'volley trust',
  waiting: [],
  waitingModules: [],
  changed: [],
  problem: undefined,
  files: new Map(),
};

/** From the words of the file to those of the rest of Volley. */
export function toConfig(
  settings: Settings,
  folder: string,
  trust: WorkspaceTrust = NOT_NEEDED,
): VolleyConfig {
  const { engine, limits, defaults, tools, processes, secrets } = settings;
  const { files, http_request: http, shell } = tools;
  const [program, ...programArguments] = shell.program;
  const roots = [...new Set(tools.roots.map((root) => resolve(folder, root)))];
  return {
    folder: resolve(folder),
    trust,
    engine: {
      ageingMs: engine.ageing_ms,
      reserveAfterMs: engine.reserve_after_ms,
      graceMs: engine.grace_ms,
      retainSettled: engine.retain_settled,
      eventLogSize: engine.event_log_size,
    },
    limits: {
      maxConcurrency: limits.max_concurrency,
      resources: Object.fromEntries(
        RESOURCE_TABLE.map(({ name, configKey }) => [name, limits[configKey]]),
      ) as Required<ResourceLimits>,
      tools: toSharedLimits(limits.tools),
      groups: toSharedLimits(limits.groups),
    },
    defaults: {
      priority: defaults.priority,
      timeoutMs: defaults.timeout_ms,
      retry: {
        maxRetries: defaults.retry.max_retries,
        delayMs: defaults.retry.delay_ms,
        factor: defaults.retry.factor,
        maxDelayMs: defaults.retry.max_delay_ms,
        jitter: defaults.retry.jitter,
      },
    },
    tools: {
      allow: tools.allow,
      deny: tools.deny,
      modules: tools.modules,
      roots,
      protected: tools.protected,
      writable: tools.writable,
    },
    files: { maxBytes: files.max_bytes, maxEntries: files.max_entries },
    http: {
      enabled: http.enabled,
      allowPrivate: http.allow_private,
      allowHosts: http.allow_hosts,
      maxBytes: http.max_bytes,
      maxRedirects: http.max_redirects,
      timeoutMs: http.timeout_ms,
    },
    shell: {
      enabled: shell.enabled,
      shell: [program!, ...programArguments],
      env: shell.env,
      network: shell.network,
    },
    threads: { max: settings.threads.max },
    processes: {
      sandbox: processes.sandbox,
      limits: {
        memoryMb: processes.memory_mb,
        cpuMs: processes.cpu_ms,
        openFiles: processes.open_files,
        processes: processes.processes,
        diskMb: processes.disk_mb,
        outputBytes: processes.output_bytes,
        resultBytes: processes.result_bytes,
      },
    },
    secrets: { names: secrets.names, maxTextLength: secrets.max_text_length },
    store: { file: resolve(folder, settings.store.file) },
    server: toServer(settings.server, folder),
    mcp: toMcp(settings.mcp, folder, roots),
    tasks: toTasks(settings.tasks, folder),
  };
}

function toServer(server: Settings['server'], folder: string): ServerSettings {
  const { limits, tls } = server;
  const { certificate, key } = tls;
  return {
    host: server.host,
    port: server.port,
    allowedHosts: server.allowed_hosts,
    allowedOrigins: server.allowed_origins,
    graceMs: server.grace_ms,
    sessionMs: server.session_ms,
    logLevel: server.log_level,
    limits: {
      maxBodyBytes: limits.max_body_bytes,
      maxDepth: limits.max_depth,
      maxConnections: limits.max_connections,
      headerTimeoutMs: limits.header_timeout_ms,
      requestTimeoutMs: limits.request_timeout_ms,
      requestsPerSecond: limits.requests_per_second,
      streams: limits.streams,
    },
    tls:
      certificate === undefined || key === undefined
        ? undefined
        : { certificate: resolve(folder, certificate), key: resolve(folder, key) },
    tokens: server.tokens,
  };
}

function toSharedLimits(byName: Settings['limits']['tools']): Record<string, SharedLimits> {
  return Object.fromEntries(
    Object.entries(byName).map(([name, { max_concurrency: maxConcurrency, rate }]) => [
      name,
      {
        ...(maxConcurrency !== undefined && { maxConcurrency }),
        ...(rate !== undefined && { rate: { count: rate.count, perMs: rate.per_ms } }),
      },
    ]),
  );
}
