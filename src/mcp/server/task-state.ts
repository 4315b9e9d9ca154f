import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { countsText } from '../../batch/counts.ts';
import type { BatchView } from '../../batch/view.ts';
import type { McpBackend } from './tool.ts';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

const POLL_MS = 1000;

/** A batch as an MCP task with the name of the batch. Its state is read from the store. */
interface TaskState {
  readonly taskId: string;
  readonly status: 'working' | 'completed' | 'failed' | 'cancelled';
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
}

export function taskState(view: BatchView): TaskState {
  const { name, createdAt, endedAt } = view;
  const status = statusOf(view);
  const interrupted = ' The remaining tasks are not running. Start the batch again.';
  return {
    taskId: name,
    status,
    statusMessage: `${countsText(view.counts)}.${status === 'failed' ? interrupted : ''}`,
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(status === 'working' ? Date.now() : (endedAt ?? createdAt)).toISOString(),
  };
}

/** Throws the protocol's error for a task that does not exist. */
export async function taskView({ executor }: McpBackend, taskId: string): Promise<BatchView> {
  const view = await executor.view(taskId);
  if (view !== undefined) return view;
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no task ${JSON.stringify(taskId.slice(0, 200))}`,
  );
}

/** An MCP task fails only if its batch ended early. Failed tasks within the batch are part of its result. */
function statusOf({ state, counts, total }: BatchView): TaskState['status'] {
  if (state !== 'idle') return 'working';
  if (counts.open + counts.running > 0) return 'failed';
  return counts.cancelled > 0 && counts.cancelled + counts.skipped === total ? 'cancelled' : 'completed';
}

/** A task in the format of each revision. It is kept until its batch is cleared. */
export function taskBody(state: TaskState, era: 'legacy' | 'modern'): Record<string, unknown> {
  return era === 'modern'
    ? { ...state, ttlMs: null, pollIntervalMs: POLL_MS }
    : { ...state, ttl: null, pollInterval: POLL_MS };
}

/** Whether a client of revision 2026-07-28 accepts a task instead of a result. */
export function takesTasks({ mcpReq }: ServerContext): boolean {
  const envelope = mcpReq.envelope as Readonly<Record<string, unknown>> | undefined;
  const { extensions } = (envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {}) as { extensions?: object };
  return extensions !== undefined && Object.hasOwn(extensions, TASKS_EXTENSION);
}
