import { createRoute, z } from '@hono/zod-openapi';
import type { ToolCall } from '../../coordinator/call.ts';
import type { ExecuteOptions } from '../../coordinator/coordinator.ts';
import { VolleyError } from '../../core/errors.ts';
import type { EventBody } from '../wire/event.ts';
import { CALL_RESULT, callResultText, EXECUTE, toCall } from '../wire/execute.ts';
import { type Api, type ApiContext, REFUSALS, requestOf, secured, takes } from './api.ts';
import { IDEMPOTENCY_HEADER, idempotent } from './idempotency.ts';
import type { ServerParts } from './parts.ts';

const EVENTS = 'text/event-stream';
const LINES = 'application/x-ndjson';

/** Route that runs calls without storing them. Disconnecting cancels them. */
export function executeRoute(api: Api, parts: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('run', idempotent(parts)),
      operationId: 'executeCalls',
      method: 'post',
      path: '/v1/execute',
      tags: ['execute'],
      summary: 'Runs calls in parallel',
      description: `The response has all results in the order of the calls. With "Accept: ${LINES}" each arrives as a line as soon as it is ready, with "Accept: ${EVENTS}" as an event "result", with an event "call" whenever a call starts, reports progress, is retried or ends, and "end" at the end. If the client disconnects, calls that have not ended are cancelled.`,
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
      const type = streamType(context.req.header('accept'));
      const options = {
        signal: gone,
        onGroup: (group: string) => parts.tracing.adopt(group),
        ...(fail_fast !== undefined && { failFast: fail_fast }),
        ...(max_concurrent !== undefined && { maxConcurrency: max_concurrent }),
        ...(timeout_ms !== undefined && { timeoutMs: timeout_ms }),
      };
      if (type === undefined) {
        const results = await parts.coordinator.executeParallel(calls.map(toCall), options);
        // Calls cancelled by a disconnect are not the answer to a retry with the same key.
        current.isRefused = gone.aborted;
        context.header('Content-Type', 'application/json');
        return context.body(`{"results":[${results.map(callResultText).join(',')}]}`, 200);
      }
      if (context.req.header('idempotency-key') !== undefined)
        throw new VolleyError(
          'INVALID_REQUEST',
          'A stream cannot be repeated: leave the Idempotency-Key out.',
        );
      context.header('Content-Type', type);
      return context.body(await streamCalls(parts, calls.map(toCall), options, type), 200);
    },
  );
}

function streamType(accept = ''): typeof EVENTS | typeof LINES | undefined {
  if (accept.includes(EVENTS)) return EVENTS;
  return accept.includes(LINES) ? LINES : undefined;
}

/** Aborted when the client disconnects before the response. */
function goneSignal(context: ApiContext): AbortSignal {
  const { outgoing } = context.env;
  const controller = new AbortController();
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) controller.abort('the client disconnected');
  });
  return controller.signal;
}

/** Progress is dropped for a client with this many unread messages. */
const MAX_UNREAD = 1000;

/** Runs calls and streams their events. Invalid requests are refused before the stream starts. */
async function streamCalls(
  { coordinator, live }: ServerParts,
  calls: readonly ToolCall[],
  options: ExecuteOptions & { readonly onGroup: (group: string) => void },
  type: typeof EVENTS | typeof LINES,
): Promise<ReadableStream> {
  let unfollow = () => {};
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const results = coordinator.stream(calls, {
    ...options,
    onGroup: (group) => {
      options.onGroup(group);
      if (type === EVENTS) unfollow = live.followCalls(group, (body) => sendCall(body));
      // Subscribe before submitting, because calls may be refused during submission.
      setImmediate(begin);
    },
  });
  let controller!: ReadableStreamDefaultController;
  const body = new ReadableStream({
    start: (given) => {
      controller = given;
    },
    cancel: async () => {
      unfollow();
      await results.return();
    },
  });
  const send = (event: string, json: string) => {
    const text = type === LINES ? `${json}\n` : `event: ${event}\ndata: ${json}\n\n`;
    controller.enqueue(Buffer.from(text));
  };
  const sendCall = (call: EventBody<'call'>) => {
    if (call.type !== 'progress' || controller.desiredSize! > -MAX_UNREAD) send('call', JSON.stringify(call));
  };
  const first = results.next();
  const sendResults = async () => {
    for (let next = await first; !next.done; next = await results.next())
      send('result', callResultText(next.value));
    if (type === EVENTS) send('end', '{}');
    controller.close();
  };
  try {
    await Promise.race([first, begun]);
  } catch (error) {
    unfollow();
    throw error;
  }
  sendResults()
    .catch((error: unknown) => controller.error(error))
    .finally(() => unfollow());
  return body;
}
