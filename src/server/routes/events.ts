import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { createRoute, z } from '@hono/zod-openapi';
import { findBatch } from '../../batch/context.ts';
import { type Api, type ApiContext, BATCH_PATH, REFUSALS, requestOf, secured } from './api.ts';
import type { ServerParts } from './parts.ts';

/** An id names a place in the store, and there the transactions that were under way. */
const MAX_ID_LENGTH = 4096;

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The id of the last event received. The stream continues after it.',
  schema: { type: 'string', maxLength: MAX_ID_LENGTH },
} as const;

const RESPONSES = {
  200: {
    description: 'Events: snapshot, task, call, added, batch, cleared, gap, end; see docs/observability.md.',
    content: { 'text/event-stream': { schema: z.string() } },
  },
  ...REFUSALS,
};

/** Routes for live events over SSE. */
export function eventRoutes(api: Api, { live, store, streams }: ServerParts): void {
  const subscribe = async (context: ApiContext, batch: string | undefined): Promise<Response> => {
    const { incoming, outgoing } = context.env;
    const { principal, address } = requestOf(context);
    const lastEventId = incoming.headers['last-event-id'];
    if (incoming.method === 'HEAD') return context.body(null, 200, { 'Content-Type': 'text/event-stream' });
    // Written directly, so that all streams share one buffer.
    streams.take([principal!.client, `address ${address}`], outgoing);
    await live.subscribe(
      {
        ...(batch !== undefined && { batch }),
        ...(typeof lastEventId === 'string' && { lastEventId: lastEventId.slice(0, MAX_ID_LENGTH) }),
        ...(principal!.expiresAt !== undefined && { expiresAt: principal!.expiresAt }),
      },
      outgoing,
    );
    // A copy is an answer of Node's own kind. The word itself is one of Hono's where Hono was used before it was loaded,
    // and then it is sent, behind what was sent already.
    return RESPONSE_ALREADY_SENT.clone();
  };

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'streamEvents',
      method: 'get',
      path: '/v1/events',
      tags: ['events'],
      summary: 'Streams the events of all batches',
      parameters: [LAST_EVENT_ID],
      responses: RESPONSES,
    }),
    async (context) => (await subscribe(context, undefined)) as never,
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'streamBatchEvents',
      method: 'get',
      path: '/v1/batches/{batch}/events',
      tags: ['events'],
      summary: 'Streams the events of a batch',
      request: { params: BATCH_PATH },
      parameters: [LAST_EVENT_ID],
      responses: RESPONSES,
    }),
    async (context) => {
      const { batch } = context.req.valid('param');
      await findBatch({ store }, batch);
      return (await subscribe(context, batch)) as never;
    },
  );
}
