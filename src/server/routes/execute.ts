import { createRoute, z } from '@hono/zod-openapi';
import type { CallResult } from '../../coordinator/call.ts';
import { VolleyError } from '../../core/errors.ts';
import { CALL_RESULT, callResultText, EXECUTE, toCall } from '../wire/execute.ts';
import { type Api, type ApiContext, REFUSALS, requestOf, secured, takes } from './api.ts';
import { IDEMPOTENCY_HEADER, idempotent } from './idempotency.ts';
import type { ServerParts } from './parts.ts';

const EVENTS = 'text/event-stream';
const LINES = 'application/x-ndjson';

/** Runs calls at once. Nothing of them is kept; whoever goes away cancels them. */
export function executeRoute(api: Api, parts: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('run', idempotent(parts)),
      operationId: 'executeCalls',
      method: 'post',
      path: '/v1/execute',
      tags: ['execute'],
      summary: 'Runs a group of calls',
      description: `The answer has all results in the order of the calls. With "Accept: ${LINES}" each comes as a line as soon as there is one, with "Accept: ${EVENTS}" as an event "result", and "end" at the end. A client that goes away cancels what has not ended.`,
      request: { body: takes(EXECUTE) },
      parameters: [IDEMPOTENCY_HEADER],
      responses: {
        200: {
          description: 'How each call ended.',
          content: {
            'application/json': { schema: z.object({ results: z.array(CALL_RESULT) }) },
            [LINES]: { schema: CALL_RESULT },
            [EVENTS]: { schema: z.string() },
          },
        },
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { calls, fail_fast, max_concurrent, timeout_ms } = context.req.valid('json');
      const current = requestOf(context);
      current.subject = `${calls.length} calls`;
      const gone = goneSignal(context);
      const options = {
        signal: gone,
        onGroup: (group: string) => parts.tracing.adopt(group),
        ...(fail_fast !== undefined && { failFast: fail_fast }),
        ...(max_concurrent !== undefined && { maxConcurrency: max_concurrent }),
        ...(timeout_ms !== undefined && { timeoutMs: timeout_ms }),
      };
      const type = streamType(context.req.header('accept'));
      if (type === undefined) {
        const results = await parts.coordinator.executeParallel(calls.map(toCall), options);
        // What was cancelled for that reason only is no answer to one who comes back with the same key.
        current.isRefused = gone.aborted;
        context.header('Content-Type', 'application/json');
        return context.body(`{"results":[${results.map(callResultText).join(',')}]}`, 200);
      }
      if (context.req.header('idempotency-key') !== undefined)
        throw new VolleyError(
          'INVALID_REQUEST',
          'A stream cannot be repeated: leave the Idempotency-Key out.',
        );
      const results = parts.coordinator.stream(calls.map(toCall), options);
      // What cannot begin is refused as a whole, before the stream does.
      const first = await results.next();
      context.header('Content-Type', type);
      return context.body(streamOf(results, first, type), 200);
    },
  );
}

function streamType(accept = ''): typeof EVENTS | typeof LINES | undefined {
  if (accept.includes(EVENTS)) return EVENTS;
  return accept.includes(LINES) ? LINES : undefined;
}

/** Aborted when the client has gone before it had its answer. */
function goneSignal(context: ApiContext): AbortSignal {
  const { outgoing } = context.env;
  const controller = new AbortController();
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) controller.abort('the client went away');
  });
  return controller.signal;
}

function streamOf(
  results: AsyncGenerator<CallResult, void, undefined>,
  first: IteratorResult<CallResult, void>,
  type: typeof EVENTS | typeof LINES,
): ReadableStream {
  const textOf = (result: CallResult) => {
    const json = callResultText(result);
    return type === LINES ? `${json}\n` : `event: result\ndata: ${json}\n\n`;
  };
  let waiting: IteratorResult<CallResult, void> | undefined = first;
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = waiting ?? (await results.next());
      waiting = undefined;
      if (!done) {
        controller.enqueue(Buffer.from(textOf(value)));
        return;
      }
      if (type === EVENTS) controller.enqueue(Buffer.from('event: end\ndata: {}\n\n'));
      controller.close();
    },
    cancel: async () => {
      await results.return();
    },
  });
}
