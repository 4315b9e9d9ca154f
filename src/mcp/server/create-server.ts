import { McpServer } from '@modelcontextprotocol/server';
import type { CallCount } from './call-count.ts';
import { registerResources } from './resources.ts';
import { serveTasks } from './serve-tasks.ts';
import { serveTools } from './serve-tools.ts';
import { TASKS_EXTENSION } from './task-state.ts';
import type { OpenBackend } from './tool.ts';
import { serveSubscriptions } from './updates.ts';

interface CreateServerOptions {
  readonly open: OpenBackend;
  /** Which revisions it speaks: 2026-07-28, or those of 2025. */
  readonly era: 'legacy' | 'modern';
  /** Of Volley. */
  readonly version: string;
  readonly calls: CallCount;
  /** Whether this server tells the client of what it subscribed to, or somebody else does. */
  readonly updates: 'subscribed' | 'none';
  onError(error: unknown): void;
}

const INSTRUCTIONS = `Volley runs many function calls in parallel. Where you would make three or more calls that do not need you in between, send them as one run_batch and get all results in one answer. list_batch_functions tells what can be called. Longer work: batch_executor_tool queues and starts it, batch_status waits for it, batch_results reads it; it survives a restart. Where a feature is cut into subtasks in .tmp/tasks, tasks_run lets coding agents do them at once and completes what it could verify.`;

/** A server for one connection, or for one request of the 2026 revision over HTTP. */
export function createServer(options: CreateServerOptions): McpServer {
  const { open, version, era, updates, calls, onError } = options;
  const server = new McpServer(
    { name: 'volley', title: 'Volley', version },
    {
      instructions: INSTRUCTIONS,
      capabilities: {
        // They are always the same.
        tools: { listChanged: false },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        ...(era === 'modern'
          ? { extensions: { [TASKS_EXTENSION]: {} } }
          : { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }),
      },
    },
  );
  const host = { open, calls, onError };
  serveTools(server, host, era);
  serveTasks(server, host, era);
  registerResources(server, open);
  if (updates === 'subscribed') serveSubscriptions(server, open);
  return server;
}
