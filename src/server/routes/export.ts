import { createRoute, z } from '@hono/zod-openapi';
import { findBatch } from '../../batch/context.ts';
import { exportPieces } from '../../batch/export/export-pieces.ts';
import { EXPORT_FORMATS } from '../../batch/export/formats.ts';
import { STATUS_FILTER } from '../../batch/input/fields.ts';
import type { ServerParts } from '../parts.ts';
import { type Api, BATCH_PATH, REFUSALS, secured } from './api.ts';

const TYPES = {
  json: 'application/json',
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/x-ndjson',
  markdown: 'text/markdown; charset=utf-8',
} as const satisfies Record<keyof typeof EXPORT_FORMATS, string>;

const ENDINGS = { json: 'json', csv: 'csv', jsonl: 'jsonl', markdown: 'md' } as const;
const CHUNK = 65_536;

/** All tasks with their results as a file. */
export function exportRoute(api: Api, { store }: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('read'),
      method: 'get',
      path: '/v1/batches/{batch}/export',
      tags: ['batches'],
      summary: 'All tasks with their results, as a download',
      request: {
        params: BATCH_PATH,
        query: z.object({
          format: z.enum(['json', 'csv', 'jsonl', 'markdown']).default('json'),
          status: STATUS_FILTER.optional(),
        }),
      },
      responses: {
        200: {
          description: 'The file.',
          content: Object.fromEntries(
            Object.values(TYPES).map((type) => [type.split(';')[0]!, { schema: z.string() }]),
          ),
        },
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { batch } = context.req.valid('param');
      const { format, status } = context.req.valid('query');
      await findBatch({ store }, batch);
      context.header('Content-Type', TYPES[format]);
      context.header('Content-Disposition', `attachment; filename="${fileName(batch)}.${ENDINGS[format]}"`);
      const pieces = exportPieces(store, batch, status, EXPORT_FORMATS[format]);
      return context.body(streamOf(pieces), 200);
    },
  );
}

/** A name of a batch may hold anything that can be printed: what a header or a file could stumble over is replaced. */
function fileName(batch: string): string {
  return batch.replace(/[^\w.-]+/g, '_').replace(/^[._]+/, '') || 'batch';
}

/** Pieces are read as the client takes them. */
function streamOf(pieces: AsyncGenerator<string, void, undefined>): ReadableStream {
  return new ReadableStream({
    pull: async (controller) => {
      let chunk = '';
      while (chunk.length < CHUNK) {
        const { done, value } = await pieces.next();
        if (done) break;
        chunk += value;
      }
      if (chunk === '') controller.close();
      else controller.enqueue(Buffer.from(chunk));
    },
    cancel: async () => {
      await pieces.return();
    },
  });
}
