import {
  type McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Scope } from '../../batch/actions/define-action.ts';
import { endedAnswer } from './run-tasks.ts';
import { createCall, requireCallerScope, type ToolServing, toolResult } from './serve-tools.ts';
import { TASKS_EXTENSION, takesTasks, taskBody, taskState, taskView } from './task-state.ts';
import { MAX_WAIT_SECONDS } from './tool.ts';
import { waitForEnd } from './wait-for-end.ts';

const PAGE = 100;
const TASK = { params: z.looseObject({ taskId: z.string().max(200) }) };
const CURSOR = {
  params: z
    .looseObject({
      cursor: z
        .string()
        .regex(/^\d{1,15}$/)
        .optional(),
    })
    .default({}),
};

/** Lets clients ask for tasks: the extension of 2026-07-28, or the experimental form of 2025-11-25. */
export function serveTasks({ server }: McpServer, host: ToolServing, era: 'legacy' | 'modern'): void {
  const { open, calls, offer } = host;
  const admit = (context: ServerContext, scope: Scope) => {
    if (era === 'modern') requireTasks(context);
    requireCallerScope(context, scope);
  };

  server.setRequestHandler('tasks/get', TASK, async ({ taskId }, context) => {
    admit(context, 'read');
    const backend = await open();
    const state = taskState(await taskView(backend, taskId));
    const body = taskBody(state, era);
    if (era === 'legacy' || state.status === 'working' || state.status === 'cancelled') return body;
    return state.status === 'completed'
      ? {
          ...body,
          result: toolResult(await endedAnswer({ backend, profile: await offer.profile() }, taskId)),
        }
      : { ...body, error: { code: ProtocolErrorCode.InternalError, message: state.statusMessage } };
  });

  server.setRequestHandler('tasks/cancel', TASK, async ({ taskId }, context) => {
    admit(context, 'run');
    const backend = await open();
    const { status } = taskState(await taskView(backend, taskId));
    if (status === 'working' || status === 'failed')
      await backend.executor.perform('cancel', { batch: taskId, all: true });
    else if (era === 'legacy') {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The task has ended already: it is ${status}`);
    }
    // A cancelled batch may take a moment to end; what was asked for is what it will be.
    return era === 'modern'
      ? {}
      : taskBody({ ...taskState(await taskView(backend, taskId)), status: 'cancelled' }, era);
  });

  if (era === 'modern') {
    // No task of ours asks for input, so there is nothing that an update could answer.
    server.setRequestHandler('tasks/update', TASK, async ({ taskId }, context) => {
      admit(context, 'run');
      await taskView(await open(), taskId);
      return {};
    });
    return;
  }

  server.setRequestHandler('tasks/result', TASK, ({ taskId }, context: ServerContext) =>
    calls.during(async () => {
      requireCallerScope(context, 'read');
      const backend = await open();
      await taskView(backend, taskId);
      const call = createCall(context, backend, await offer.profile());
      await waitForEnd(call, taskId, MAX_WAIT_SECONDS);
      return {
        ...toolResult(await endedAnswer(call, taskId)),
        _meta: { [RELATED_TASK_META_KEY]: { taskId } },
      };
    }),
  );

  server.setRequestHandler('tasks/list', CURSOR, async ({ cursor }, context) => {
    requireCallerScope(context, 'read');
    const { executor } = await open();
    const views = await executor.views(cursor === undefined ? undefined : Number(cursor), PAGE);
    const next = views.length === PAGE ? { nextCursor: String(views.at(-1)!.number) } : {};
    return { tasks: views.map((view) => taskBody(taskState(view), era)), ...next };
  });
}

/** Throws what the protocol has for a client that asks for tasks without saying that it knows them. */
function requireTasks(context: ServerContext): void {
  if (takesTasks(context)) return;
  throw new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  });
}
