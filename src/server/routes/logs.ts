import { createRoute, z } from '@hono/zod-openapi';
import { streamSSE } from 'hono/streaming';
import { findTask } from '../../batch/context.ts';
import { type LogPage, type LogSource, MAX_LOG_LINES, readLog } from '../../batch/log-page.ts';
import { followTask, taskLog } from '../../batch/task-log.ts';
import { OUTPUT_STREAMS } from '../../store/records.ts';
import { type Api, answers, integerIn, REFUSALS, requestOf, secured, TASK_PATH } from './api.ts';
import type { ServerParts } from './parts.ts';

const TAGS = ['logs'];
const DEFAULT_LIMIT = 500;
const MAX_LINE = 2 ** 40;

const LOG_LINE = z.object({
  line: z.int().describe('Its number in the attempt, from 0.'),
  at: z.int().describe('When it was printed.'),
  stream: z.enum(OUTPUT_STREAMS),
  text: z.string(),
});

/** A part of a log. */
export const LOG = z
  .object({
    attempt: z.int().describe('0 if nothing was printed.'),
    attempts: z.array(z.int()).describe('All that have a log.'),
    first_line: z.int().describe('The first line that is kept. Earlier ones were dropped.'),
    end_line: z.int().describe('How many lines were printed so far.'),
    next: z.int().describe('Where the next page begins.'),
    lines: z.array(LOG_LINE),
  })
  .openapi('Log');

export type LogBody = z.infer<typeof LOG>;

/** What to read of a log. */
export const LOG_QUERY = z.object({
  attempt: integerIn(1, 1_000_000).optional().describe('Default: the last.'),
  from: integerIn(0, MAX_LINE).optional().describe('The first line. Default: the last lines.'),
  limit: integerIn(1, MAX_LOG_LINES).optional(),
  search: z.string().min(1).max(1000).optional().describe('Only lines that contain this text.'),
});

const LOG_EVENTS = {
  description: 'Events `log`, each a part of the log, until the execution has ended; then an event `end`.',
  content: { 'text/event-stream': { schema: z.string() } },
};

/** Routes for what executions print. */
export function logRoutes(api: Api, { store, streams }: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getExecutionLog',
      method: 'get',
      path: '/v1/executions/{batch}/{id}/log',
      tags: TAGS,
      summary: 'Returns a part of what an execution printed and logged',
      request: { params: TASK_PATH, query: LOG_QUERY },
      responses: { 200: answers(LOG, 'The lines.'), ...REFUSALS },
    }),
    async (context) => {
      const { batch, id } = context.req.valid('param');
      const task = await findTask({ store }, batch, id);
      return context.json(await logBody(taskLog(store, task), context.req.valid('query')), 200);
    },
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'followExecutionLog',
      method: 'get',
      path: '/v1/executions/{batch}/{id}/log/events',
      tags: TAGS,
      summary: 'Streams what an execution prints and logs, until it has ended',
      request: { params: TASK_PATH, query: LOG_QUERY.omit({ search: true }) },
      responses: { 200: LOG_EVENTS, ...REFUSALS },
    }),
    async (context) => {
      const { batch, id } = context.req.valid('param');
      const { attempt, from, limit = DEFAULT_LIMIT } = context.req.valid('query');
      const task = await findTask({ store }, batch, id);
      const { principal, address } = requestOf(context);
      streams.take([principal!.client, `address ${address}`], context.env.outgoing);
      const { signal } = context.req.raw;
      return streamSSE(context, async (stream) => {
        for await (const page of followTask(store, task, { attempt, from, limit, signal }))
          await stream.writeSSE({
            event: 'log',
            id: `${page.attempt}-${page.next}`,
            data: JSON.stringify(bodyOf(page)),
          });
        await stream.writeSSE({ event: 'end', data: '{}' });
      }) as never;
    },
  );
}

/** A part of any log, as routes answer it. */
export async function logBody(source: LogSource, query: z.output<typeof LOG_QUERY>): Promise<LogBody> {
  return bodyOf(await readLog(source, { ...query, limit: query.limit ?? DEFAULT_LIMIT }));
}

function bodyOf({ attempt, attempts, firstLine, endLine, next, lines }: LogPage): LogBody {
  return {
    attempt,
    attempts: [...attempts],
    first_line: firstLine,
    end_line: endLine,
    next,
    lines: [...lines],
  };
}
