import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { McpScope } from '../backend.ts';
import { MAX_WAIT_SECONDS } from '../limits.ts';
import { callOf, contentOf, requireScope, type ToolHost } from '../tool-host.ts';
import { ask } from '../tools/ask.ts';
import { endedAnswer } from '../tools/run-batch.ts';
import { untilEnded } from '../until-ended.ts';
import { type TaskState, taskState, taskView } from './task-state.ts';
import { requireTasks } from './tasks-extension.ts';

const POLL_MS = 1000;
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

type Era = 'legacy' | 'modern';

/** A task as each revision writes it. It is kept until its batch is cleared. */
export function taskBody(state: TaskState, era: Era): Record<string, unknown> {
  return era === 'modern'
    ? { ...state, ttlMs: null, pollIntervalMs: POLL_MS }
    : { ...state, ttl: null, pollInterval: POLL_MS };
}

/** Lets clients ask for tasks: the extension of 2026-07-28, or the experimental form of 2025-11-25. */
export function serveTasks({ server }: McpServer, host: ToolHost, era: Era): void {
  const { open, calls } = host;
  const admit = (context: ServerContext, scope: McpScope) => {
    if (era === 'modern') requireTasks(context);
    requireScope(context, scope);
  };

  server.setRequestHandler('tasks/get', TASK, async ({ taskId }, context) => {
    admit(context, 'read');
    const backend = await open();
    const state = taskState(await taskView(backend, taskId));
    const body = taskBody(state, era);
    if (era === 'legacy' || state.status === 'working' || state.status === 'cancelled') return body;
    return state.status === 'completed'
      ? { ...body, result: contentOf(await endedAnswer({ backend }, taskId)) }
      : { ...body, error: { code: ProtocolErrorCode.InternalError, message: state.statusMessage } };
  });

  server.setRequestHandler('tasks/cancel', TASK, async ({ taskId }, context) => {
    admit(context, 'run');
    const backend = await open();
    const { status } = taskState(await taskView(backend, taskId));
    if (status === 'working' || status === 'failed')
      await ask({ backend }, { action: 'cancel', batch: taskId, all: true });
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
      requireScope(context, 'read');
      const backend = await open();
      await taskView(backend, taskId);
      await untilEnded(callOf(context, backend), taskId, MAX_WAIT_SECONDS);
      return {
        ...contentOf(await endedAnswer({ backend }, taskId)),
        _meta: { [RELATED_TASK_META_KEY]: { taskId } },
      };
    }),
  );

  server.setRequestHandler('tasks/list', CURSOR, async ({ cursor }, context) => {
    requireScope(context, 'read');
    const { executor } = await open();
    const views = await executor.views(cursor === undefined ? undefined : Number(cursor), PAGE);
    const next = views.length === PAGE ? { nextCursor: String(views.at(-1)!.number) } : {};
    return { tasks: views.map((view) => taskBody(taskState(view), era)), ...next };
  });
}
