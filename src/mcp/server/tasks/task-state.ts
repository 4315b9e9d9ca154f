import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { countsText } from '../../../batch/counts.ts';
import type { BatchView } from '../../../batch/view.ts';
import type { McpBackend } from '../backend.ts';

/** A batch as a task of MCP, which goes by the name of the batch. What is told is read from the store. */
export interface TaskState {
  readonly taskId: string;
  readonly status: 'working' | 'completed' | 'failed' | 'cancelled';
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
}

export function taskState(view: BatchView): TaskState {
  const { name, createdAt, endedAt } = view;
  const status = statusOf(view);
  const interrupted = ' Nobody runs what is left: start the batch again.';
  return {
    taskId: name,
    status,
    statusMessage: `${countsText(view.counts)}.${status === 'failed' ? interrupted : ''}`,
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(status === 'working' ? Date.now() : (endedAt ?? createdAt)).toISOString(),
  };
}

/** Throws what the protocol has for a task that does not exist. */
export async function taskView({ executor }: McpBackend, taskId: string): Promise<BatchView> {
  const view = await executor.view(taskId);
  if (view !== undefined) return view;
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no task ${JSON.stringify(taskId.slice(0, 200))}`,
  );
}

/** A task has failed only where its batch did not come to its end; tasks of a batch that failed are its result. */
function statusOf({ state, counts, total }: BatchView): TaskState['status'] {
  if (state !== 'idle') return 'working';
  if (counts.open + counts.running > 0) return 'failed';
  return counts.cancelled > 0 && counts.cancelled + counts.skipped === total ? 'cancelled' : 'completed';
}
