import { createRoute, z } from '@hono/zod-openapi';
import { findTask } from '../../batch/context.ts';
import { VolleyError } from '../../core/errors.ts';
import type { TaskRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { type ByteRange, byteRange } from '../http/byte-range.ts';
import type { ServerParts } from '../parts.ts';
import { numberIn } from '../wire/requests.ts';
import { type Api, REFUSALS, secured, TASK_PATH } from './api.ts';

const PART = 2 ** 18;
const MAX_BYTES = 2 ** 20;
const DEFAULT_BYTES = 65_536;

const RESULT_PART = z
  .object({
    offset: z.int(),
    next_offset: z.int().nullable().describe('null at the end.'),
    total: z.int().describe('The length of the whole result in bytes.'),
    part: z.string().describe('Of the result as JSON text; whole characters.'),
  })
  .openapi('ResultPart');

const QUERY = z.object({
  offset: numberIn(0, 2 ** 40).optional(),
  length: numberIn(1, MAX_BYTES).optional(),
});

/** The result of one execution. */
export function resultRoute(api: Api, { store }: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('read'),
      method: 'get',
      path: '/v1/executions/{batch}/{id}/result',
      tags: ['executions'],
      summary: 'The result, whole or a part of it',
      description:
        'Whole as JSON; exact bytes of it with the header "Range: bytes=…"; or, with "offset" and "length", a part as text in an object.',
      request: { params: TASK_PATH, query: QUERY },
      responses: {
        200: {
          description: 'The result, or the part of it that "offset" and "length" ask for.',
          content: { 'application/json': { schema: z.union([z.unknown(), RESULT_PART]) } },
        },
        206: { description: 'The bytes that the header Range asks for.' },
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { batch, id } = context.req.valid('param');
      const { offset, length } = context.req.valid('query');
      const record = await completed(store, batch, id);
      const { resultBytes: total = 0 } = record;
      if (offset !== undefined || length !== undefined)
        return context.json(await partOf(store, record, offset ?? 0, length ?? DEFAULT_BYTES), 200);
      context.header('Accept-Ranges', 'bytes');
      context.header('Content-Type', 'application/json');
      const range = byteRange(context.req.header('range'), total);
      const { start, end } = range ?? { start: 0, end: total };
      if (range !== undefined) context.header('Content-Range', `bytes ${start}-${end - 1}/${total}`);
      context.header('Content-Length', String(end - start));
      return context.body(streamOf(store, record, { start, end }), range === undefined ? 200 : 206);
    },
  );
}

async function completed(store: Store, batch: string, id: string): Promise<TaskRecord> {
  const record = await findTask({ store }, batch, id);
  if (record.status === 'completed') return record;
  throw new VolleyError('UNKNOWN_EXECUTION', `${id} is ${record.status}, so it has no result.`, {
    batch,
    id,
    status: record.status,
  });
}

async function partOf(
  store: Store,
  { batch, id, resultBytes: total = 0 }: TaskRecord,
  offset: number,
  length: number,
) {
  const end = Math.min(total, offset + length);
  const part = (await store.result(batch, id, { offset, length })) ?? '';
  return { offset, next_offset: end < total ? end : null, total, part };
}

/** A piece at a time, as the client reads. */
function streamOf(store: Store, { batch, id }: TaskRecord, { start, end }: ByteRange): ReadableStream {
  let at = start;
  return new ReadableStream({
    pull: async (controller) => {
      const length = Math.min(PART, end - at);
      const bytes = length === 0 ? undefined : await store.resultBytes(batch, id, { offset: at, length });
      at += bytes?.length ?? 0;
      if (bytes !== undefined && bytes.length > 0) controller.enqueue(new Uint8Array(bytes));
      if (at >= end) controller.close();
      // It was cleared meanwhile: the client must not take what it has for all.
      else if (bytes === undefined || bytes.length === 0)
        controller.error(new Error('the result was cleared'));
    },
  });
}
