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
  /** The protocol revisions: 2026-07-28, or those of 2025. */
  readonly era: 'legacy' | 'modern';
  /** Of Volley. */
  readonly version: string;
  readonly calls: CallCount;
  /** Whether this server sends the updates that the client subscribed to. */
  readonly updates: 'subscribed' | 'none';
  onError(error: unknown): void;
}

const INSTRUCTIONS = `Volley runs many function calls in parallel. For three or more calls that do not need you in between, send one run_batch and get all results at once. list_batch_functions lists what can be called. For longer work, batch_executor_tool queues and starts tasks, batch_status waits, and batch_results reads the results; it survives a restart. If a feature is split into subtasks in .tmp/tasks, tasks_run has coding agents do them in parallel and completes what it can verify.`;

/** A server for one connection, or for one request of the 2026 revision over HTTP. */
export function createServer(options: CreateServerOptions): McpServer {
  const { open, version, era, updates, calls, onError } = options;
  const server = new McpServer(
    { name: 'volley', title: 'Volley', version },
    {
      instructions: INSTRUCTIONS,
      capabilities: {
        // The list of tools never changes.
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
