import { McpServer } from '@modelcontextprotocol/server';
import type { CallCount } from './call-count.ts';
import { registerResources } from './resources.ts';
import { serveTasks } from './serve-tasks.ts';
import { type Offer, serveTools } from './serve-tools.ts';
import { TASKS_EXTENSION } from './task-state.ts';
import type { OpenBackend } from './tool.ts';
import { serveSubscriptions } from './updates.ts';

interface CreateServerOptions {
  readonly open: OpenBackend;
  readonly offer: Offer;
  /** The protocol revisions: 2026-07-28, or those of 2025. */
  readonly era: 'legacy' | 'modern';
  /** Of Volley. */
  readonly version: string;
  readonly calls: CallCount;
  /** Whether this server sends the updates that the client subscribed to. */
  readonly updates: 'subscribed' | 'none';
  onError(error: unknown): void;
}

const INSTRUCTIONS = `Volley runs many function calls in one turn, in parallel. Write a program (run_program) when calls depend on results or when you need only a part of them; send run_batch for three or more calls that you know now. list_batch_functions has the signatures of what can be called. If a feature is split into subtasks in .tmp/tasks, tasks_run has coding agents do them.`;

/** A server for one connection, or for one request of the 2026 revision over HTTP. */
export function createServer(options: CreateServerOptions): McpServer {
  const { open, offer, version, era, updates, calls, onError } = options;
  const server = new McpServer(
    { name: 'volley', title: 'Volley', version },
    {
      instructions: INSTRUCTIONS,
      capabilities: {
        tools: { listChanged: era === 'legacy' },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        ...(era === 'modern'
          ? { extensions: { [TASKS_EXTENSION]: {} } }
          : { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }),
      },
    },
  );
  const host = { open, offer, calls, onError };
  serveTools(server, host, era);
  serveTasks(server, host, era);
  registerResources(server, open);
  if (updates === 'subscribed') serveSubscriptions(server, open);
  return server;
}
