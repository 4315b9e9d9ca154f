import { setTimeout as sleep } from 'node:timers/promises';
import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { MAX_SPAN_MS } from '../../core/numbers.ts';
import { CallFailure } from './call-failure.ts';
import type { CallFollowing } from './connection.ts';

const DEFAULT_POLL_MS = 1000;
const MIN_POLL_MS = 50;
const MAX_POLL_MS = 10_000;
/** How long a server may take to hear that a task is not wanted any more. */
const CANCEL_MS = 5000;

const TASK = z.looseObject({
  taskId: z.string(),
  status: z.string(),
  statusMessage: z.string().optional(),
  pollInterval: z.number().optional(),
});

type Task = z.output<typeof TASK>;

const CREATED = z.looseObject({ task: TASK.optional() });
const RESULT = z.looseObject({ content: z.array(z.looseObject({ type: z.string() })) });

/** Calls a tool that its server runs only as a task (revision 2025-11-25): starts it, asks how it is, gets its result. */
export async function callAsTask(
  client: Client,
  name: string,
  args: Record<string, unknown>,
  { signal, onprogress }: CallFollowing,
): Promise<CallToolResult> {
  const limits = { signal, timeout: MAX_SPAN_MS };
  const request = { method: 'tools/call', params: { name, arguments: args, task: {} } };
  const created = await client.request(request, CREATED, limits);
  // A server may answer at once.
  if (created.task === undefined) return RESULT.parse(created) as CallToolResult;
  let { task } = created;
  const params = { taskId: task.taskId };
  try {
    for (let polls = 1; isOpen(task); polls++) {
      if (task.statusMessage !== undefined) onprogress({ progress: polls, message: task.statusMessage });
      await sleep(pollMs(task), undefined, { signal });
      task = await client.request({ method: 'tasks/get', params }, TASK, limits);
    }
    if (task.status === 'completed' || task.status === 'failed')
      return (await client.request({ method: 'tasks/result', params }, RESULT, limits)) as CallToolResult;
  } catch (error) {
    cancel(client, params);
    throw signal.aborted ? signal.reason : error;
  }
  if (task.status === 'cancelled')
    throw new CallFailure('refused', 'its server cancelled the task', true, undefined);
  cancel(client, params);
  const text =
    task.status === 'input_required'
      ? 'it asks for input during its work, which a batch cannot give'
      : `its task is ${task.status}`;
  throw new CallFailure('refused', text, true, undefined);
}

function isOpen({ status }: Task): boolean {
  return status === 'working' || status === 'submitted';
}

function pollMs({ pollInterval = DEFAULT_POLL_MS }: Task): number {
  return Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, pollInterval));
}

/** Nobody waits for the answer: the server may be gone. */
function cancel(client: Client, params: { taskId: string }): void {
  const request = { method: 'tasks/cancel', params };
  client.request(request, TASK, { timeout: CANCEL_MS }).catch(() => {});
}
