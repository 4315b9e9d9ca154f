import { createRoute, z } from '@hono/zod-openapi';
import { ACTIONS } from '../../batch/actions/all.ts';
import { actionOf } from '../../batch/input/request.ts';
import { scopeOfRequest } from '../../mcp/server/action-scope.ts';
import { requireScope } from '../auth/principal.ts';
import type { ServerParts } from '../parts.ts';
import { BATCH_ANSWER } from '../wire/requests.ts';
import { type Api, answers, REFUSALS, requestOf, secured, takes } from './api.ts';
import { IDEMPOTENCY_HEADER, idempotent } from './idempotent.ts';

const BATCH_REQUEST = z
  .record(z.string(), z.unknown())
  .openapi('BatchRequest', { example: { action: 'status' } });

/** `batch_executor_tool` as it is: the door for models, and for the `volley` commands that find a server. */
export function actionRoute(api: Api, parts: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('read', idempotent(parts)),
      method: 'post',
      path: '/v1/actions',
      tags: ['actions'],
      summary: 'A request of batch_executor_tool',
      description: `Actions: ${ACTIONS.map(({ name, summary }) => `${name} (${summary})`).join('; ')}. What the executor refuses is an answer with "ok": false, not a problem.`,
      request: { body: takes(BATCH_REQUEST) },
      parameters: [IDEMPOTENCY_HEADER],
      responses: { 200: answers(BATCH_ANSWER, 'The answer.'), ...REFUSALS },
    }),
    async (context) => {
      const request = context.req.valid('json');
      const current = requestOf(context);
      current.subject = actionOf(request);
      requireScope(current.principal, scopeOfRequest(request));
      const answer = await parts.executor.handle(request);
      parts.texts.clear();
      current.isRefused = !answer.ok;
      return context.json(answer, 200);
    },
  );
}
