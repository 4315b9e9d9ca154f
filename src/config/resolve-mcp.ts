import { resolve } from 'node:path';
import type { McpServerSettings, McpSettings } from './config.ts';
import type { Settings } from './schema.ts';

type FileServer = Settings['mcp']['servers'][string];

export function toMcp(
  { servers }: Settings['mcp'],
  folder: string,
  toolRoots: readonly string[],
): McpSettings {
  return {
    servers: Object.fromEntries(
      Object.entries(servers).map(([name, server]) => [name, toServer(server, folder, toolRoots)]),
    ),
  };
}

function toServer(server: FileServer, folder: string, toolRoots: readonly string[]): McpServerSettings {
  return {
    connection: toConnection(server, folder),
    // A server elsewhere has no business with the folders of this machine, unless somebody says so.
    roots: server.roots?.map((root) => resolve(folder, root)) ?? (server.url === undefined ? toolRoots : []),
    maxConcurrent: server.max_concurrent,
    ratePerMinute: server.rate_per_minute,
    startTimeoutMs: server.start_timeout_ms,
    callTimeoutMs: server.call_timeout_ms,
    maxResultBytes: server.max_result_bytes,
    allow: server.allow,
    deny: server.deny,
    allowDestructive: server.allow_destructive,
    parallel: server.parallel,
    tools: server.tools,
  };
}

/** The schema lets exactly one of `command` and `url` through. */
function toConnection(server: FileServer, folder: string): McpServerSettings['connection'] {
  const { command, args, env, cwd = '.', url, headers } = server;
  if (command === undefined) return { kind: 'http', url: url!, headers };
  return { kind: 'stdio', command, args, cwd: resolve(folder, cwd), env };
}
