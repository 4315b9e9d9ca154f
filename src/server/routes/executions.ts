import { setImmediate as nextTurn } from 'node:timers/promises';
import { createRoute, z } from '@hono/zod-openapi';
import { findBatch, findTask } from '../../batch/context.ts';
import { BATCH, STATUS_FILTER, TASK_ID } from '../../batch/input/fields.ts';
import type { Redactor } from '../../coordinator/redaction/redactor.ts';
import { VolleyError } from '../../core/errors.ts';
import {
  type BatchRecord,
  isGroup,
  type TaskOptions,
  type TaskRecord,
  type TaskStatus,
} from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import {
  attemptList,
  EXECUTION,
  EXECUTION_DETAIL,
  type ExecutionDetailBody,
  executionBody,
} from '../wire/execution.ts';
import { NEXT_CURSOR } from '../wire/kinds.ts';
import { BATCH_ANSWER } from './actions.ts';
import { type Api, answers, integerIn, LIMIT, REFUSALS, requestOf, secured, TASK_PATH } from './api.ts';
import type { ServerParts } from './parts.ts';

const TAGS = ['executions'];
const DEFAULT_LIMIT = 100;

/** Routes that read executions, and cancel or retry one. */
export function executionRoutes(api: Api, parts: ServerParts): void {
  const { executor, store, texts, coordinator } = parts;

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'listExecutions',
      method: 'get',
      path: '/v1/executions',
      tags: TAGS,
      summary: 'Lists executions of one batch or of all',
      description:
        'A page may be short or empty even if there are more: continue until next_cursor is null. Executions are listed in the order in which they were added.',
      request: {
        query: z.object({
          batch: BATCH.unwrap().optional(),
          status: STATUS_FILTER.optional(),
          function: z.string().max(128).optional(),
          group: TASK_ID.optional().describe('Only the items of this group. Needs batch.'),
          items: z.enum(['all', 'none']).optional().describe('none: without the items of groups.'),
          search: z
            .string()
            .min(1)
            .max(200)
            .optional()
            .describe('Part of the id, name, function, error or arguments.'),
          sort: z.enum(['seq', '-seq']).optional().describe('-seq: newest first.'),
          limit: LIMIT,
          cursor: z.string().max(40).optional(),
        }),
      },
      responses: {
        200: answers(z.object({ executions: z.array(EXECUTION), next_cursor: NEXT_CURSOR }), 'A page.'),
        ...REFUSALS,
      },
    }),
    async (context) => {
      const query = context.req.valid('query');
      const { batch, status, function: tool, search, group, items, sort, cursor, limit } = query;
      const page = await findExecutions(store, {
        batch,
        status,
        function: tool,
        search,
        groupSeq: group === undefined ? undefined : await groupSeqOf(store, batch, group, sort),
        withoutItems: items === 'none',
        isBackwards: sort === '-seq',
        limit: limit ?? DEFAULT_LIMIT,
        cursor,
        redactor: coordinator.redactor,
      });
      const executions = page.records.map((record) => executionBody(record, executor));
      return context.json({ executions, next_cursor: page.nextCursor }, 200);
    },
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getExecution',
      method: 'get',
      path: '/v1/executions/{batch}/{id}',
      tags: TAGS,
      summary: 'Returns one execution with its attempts',
      request: { params: TASK_PATH },
      responses: { 200: answers(EXECUTION_DETAIL, 'The execution.'), ...REFUSALS },
    }),
    async (context) => {
      const { batch, id } = context.req.valid('param');
      return context.json(await executionDetail(parts, batch, id), 200);
    },
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'explainExecution',
      method: 'get',
      path: '/v1/executions/{batch}/{id}/explain',
      tags: TAGS,
      summary: 'Explains why an execution is not running, or how it ended',
      request: { params: TASK_PATH },
      responses: {
        200: answers(
          z.object({ explanation: z.string().nullable().describe('null while it runs.') }),
          'In words.',
        ),
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { batch, id } = context.req.valid('param');
      return context.json({ explanation: (await executor.explain(batch, id)) ?? null }, 200);
    },
  );

  for (const [action, summary] of [
    ['cancel', 'Cancels an execution'],
    ['retry', 'Reopens an execution and those skipped because of it'],
  ] as const) {
    api.openapi(
      createRoute({
        ...secured('run'),
        operationId: `${action}Execution`,
        method: 'post',
        path: `/v1/executions/{batch}/{id}/${action}`,
        tags: TAGS,
        summary,
        request: { params: TASK_PATH },
        responses: { 200: answers(BATCH_ANSWER, 'The answer of the action.'), ...REFUSALS },
      }),
      async (context) => {
        const { batch, id } = context.req.valid('param' as never) as z.output<typeof TASK_PATH>;
        requestOf(context).subject = `${batch}/${id}`;
        const answer = await executor.perform(action, { batch, ids: [id] });
        texts.clear();
        return context.json(answer, 200);
      },
    );
  }
}

/** Returns one execution with the beginning of its result. */
async function executionDetail(parts: ServerParts, batch: string, id: string): Promise<ExecutionDetailBody> {
  const { executor, store, coordinator } = parts;
  const explanation = (await executor.explain(batch, id)) ?? null;
  const record = await store.task(batch, id);
  if (record === undefined)
    throw new VolleyError('UNKNOWN_TASK', `Task ${JSON.stringify(id)} was cleared.`, { batch, id });
  const { options } = record;
  return {
    ...executionBody(record, executor),
    params: shownParams(record.params, coordinator.redactor),
    timeout_ms: options.timeoutMs ?? null,
    max_retries: options.maxRetries ?? null,
    on_dependency_failure: options.onDependencyFailure ?? 'skip',
    ...groupDetail(options, coordinator.redactor),
    items: isGroup(options) ? await store.itemCounts(batch, record.seq) : null,
    attempt_list: await attemptList(store, record),
    explanation,
    warnings: [...(options.warnings ?? [])],
    result_bytes: record.resultBytes ?? null,
    result_preview: record.preview ?? null,
  };
}

function groupDetail({ when, forEach, repeat, maxConcurrent, onItemError }: TaskOptions, redactor: Redactor) {
  const { until, max = 0, delayMs } = repeat ?? {};
  const isOne = forEach === undefined && repeat === undefined;
  const text = (source: string | undefined) => (source === undefined ? null : redactor.text(source));
  return {
    when: text(when),
    for_each: forEach === undefined ? null : shownParams(JSON.stringify(forEach), redactor),
    repeat: repeat === undefined ? null : { until: text(until), max, delay_ms: delayMs ?? null },
    max_concurrent: maxConcurrent ?? null,
    on_item_error: isOne ? null : (onItemError ?? ('fail' as const)),
  };
}

/** Redacts secrets. Returns text if redaction or truncation broke the JSON. */
function shownParams(json: string, redactor: Redactor): unknown {
  const text = redactor.text(json);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A query for executions. */
interface ExecutionQuery {
  /** Default: all batches, newest first. */
  readonly batch: string | undefined;
  readonly status: readonly TaskStatus[] | undefined;
  readonly function: string | undefined;
  /** Part of the id, name, function, error or arguments, case-insensitive. */
  readonly search: string | undefined;
  /** Only the items of the group with this number. */
  readonly groupSeq: number | undefined;
  readonly withoutItems: boolean;
  /** Whether newest come first. */
  readonly isBackwards: boolean;
  readonly limit: number;
  readonly cursor: string | undefined;
  /** What it leaves out of arguments cannot be found. */
  readonly redactor: Redactor;
}

interface ExecutionPage {
  readonly records: readonly TaskRecord[];
  readonly nextCursor: string | null;
}

interface Place {
  readonly batch: BatchRecord;
  /** The last inspected task; undefined before the first. */
  readonly seq: number | undefined;
}

const PAGE = 500;
/** How many tasks are inspected per page. The next page continues from there, even if this one is short. */
const MAX_LOOKED_AT = 10_000;
/** How many characters of the arguments of a task are searched. */
const MAX_SEARCHED = 16_384;
const SEARCHED_MARGIN = 4096;
const CURSOR = /^(\d{1,15})\.(\d{1,10})$/;

/** Finds executions page by page. The work per page is bounded, however rare matches are. */
async function findExecutions(store: Store, query: ExecutionQuery): Promise<ExecutionPage> {
  const records: TaskRecord[] = [];
  const isWanted = matcher(query);
  let lookedAt = 0;
  for (let place = await firstPlace(store, query); place !== undefined; await nextTurn()) {
    const { batch, seq } = place;
    const found = await pageAfter(store, query, batch.name, seq);
    for (const record of found) {
      place = { batch, seq: record.seq };
      lookedAt++;
      if (!isWanted(record)) continue;
      records.push(record);
      if (records.length === query.limit) return { records, nextCursor: cursorOf(place) };
    }
    if (lookedAt >= MAX_LOOKED_AT) return { records, nextCursor: cursorOf(place) };
    if (found.length < PAGE) {
      lookedAt++;
      const next = query.batch === undefined ? (await store.batchPage(batch.number, 1))[0] : undefined;
      place = next && { batch: next, seq: undefined };
    }
  }
  return { records, nextCursor: null };
}

async function groupSeqOf(
  store: Store,
  batch: string | undefined,
  group: string,
  sort: string | undefined,
): Promise<number> {
  if (batch === undefined || sort === '-seq')
    throw new VolleyError(
      'INVALID_REQUEST',
      batch === undefined
        ? 'Name the batch of the group, too: batch=…'
        : 'The items of a group are listed in their order. Leave out the sort.',
    );
  await findBatch({ store }, batch);
  return (await findTask({ store }, batch, group)).seq;
}

async function firstPlace(store: Store, { batch: name, cursor }: ExecutionQuery): Promise<Place | undefined> {
  const [, number, seq] = cursor === undefined ? [] : (CURSOR.exec(cursor) ?? []);
  if (cursor !== undefined && number === undefined)
    throw new VolleyError(
      'INVALID_REQUEST',
      'The cursor is not valid. Use the next_cursor of the previous page.',
    );
  if (name !== undefined) {
    return { batch: await findBatch({ store }, name), seq: seq === undefined ? undefined : Number(seq) };
  }
  if (number === undefined) {
    const [newest] = await store.batchPage(undefined, 1);
    return newest && { batch: newest, seq: undefined };
  }
  // If it was cleared since, continue with the next one.
  const [batch] = await store.batchPage(Number(number) + 1, 1);
  return batch && { batch, seq: batch.number === Number(number) ? Number(seq) : undefined };
}

async function pageAfter(
  store: Store,
  { status, groupSeq, withoutItems, isBackwards }: ExecutionQuery,
  batch: string,
  seq: number | undefined,
): Promise<TaskRecord[]> {
  const filter = { ...(status && { status }), limit: PAGE };
  if (groupSeq !== undefined) return store.items(batch, groupSeq, { ...filter, afterSeq: seq ?? 0 });
  const from = isBackwards ? { beforeSeq: seq ?? 2 ** 30 } : { afterSeq: seq ?? 0 };
  return isBackwards && seq === 1 ? [] : store.tasks(batch, { ...from, ...filter, withoutItems });
}

function matcher({ function: tool, search, redactor }: ExecutionQuery): (record: TaskRecord) => boolean {
  const part = search?.toLowerCase();
  const has = (text: string | undefined) => text?.toLowerCase().includes(part!) === true;
  const hasArguments = (json: string) => {
    // Redaction is slow, and rarely needed: few arguments match. A secret that is cut in two might not be recognized.
    const begin = json.slice(0, MAX_SEARCHED + SEARCHED_MARGIN);
    return has(begin) && has(redactor.text(begin).slice(0, MAX_SEARCHED));
  };
  return ({ id, name, function: own, reason, code, message, params }) =>
    (tool === undefined || own === tool) &&
    (part === undefined || [id, name, own, reason, code, message].some(has) || hasArguments(params));
}

function cursorOf({ batch, seq }: Place): string {
  return `${batch.number}.${seq ?? 0}`;
}

const PART = 2 ** 18;
const MAX_BYTES = 2 ** 20;
const DEFAULT_BYTES = 65_536;

const RESULT_PART = z
  .object({
    offset: z.int(),
    next_offset: z.int().nullable().describe('null at the end.'),
    total: z.int().describe('The length of the full result in bytes.'),
    part: z.string().describe('Part of the result as JSON, without split characters.'),
  })
  .openapi('ResultPart');

const QUERY = z.object({
  offset: integerIn(0, 2 ** 40).optional(),
  length: integerIn(1, MAX_BYTES).optional(),
});

/** Route for the result of one execution. */
export function resultRoute(api: Api, { store }: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getResult',
      method: 'get',
      path: '/v1/executions/{batch}/{id}/result',
      tags: ['executions'],
      summary: 'Returns the result, in full or in part',
      description:
        'Returns the full result as JSON, exact bytes of it with the header "Range: bytes=…", or with "offset" and "length" a part as a string in an object.',
      request: { params: TASK_PATH, query: QUERY },
      responses: {
        200: {
          description: 'The result, or the part given by "offset" and "length".',
          content: { 'application/json': { schema: z.union([z.unknown(), RESULT_PART]) } },
        },
        206: { description: 'The requested bytes.' },
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

/** Reads pieces as the client consumes them. */
function streamOf(store: Store, { batch, id }: TaskRecord, { start, end }: ByteRange): ReadableStream {
  let at = start;
  return new ReadableStream({
    pull: async (controller) => {
      const length = Math.min(PART, end - at);
      const bytes = length === 0 ? undefined : await store.resultBytes(batch, id, { offset: at, length });
      at += bytes?.length ?? 0;
      if (bytes !== undefined && bytes.length > 0) controller.enqueue(new Uint8Array(bytes));
      if (at >= end) controller.close();
      // It was cleared in the meantime. Fail, so that the client does not take the part for the whole.
      else if (bytes === undefined || bytes.length === 0)
        controller.error(new Error('the result was cleared'));
    },
  });
}

/** The bytes from `start` to before `end`. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** Parses a `Range` header. Returns undefined for the whole result, also for unsupported forms. */
function byteRange(header: string | undefined, total: number): ByteRange | undefined {
  const [, first, last] = header === undefined ? [] : (RANGE.exec(header) ?? []);
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  const start = first === '' ? Math.max(0, total - Number(last)) : Number(first);
  const end = first === '' || last === '' ? total : Math.min(total, Number(last) + 1);
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  if (start < total && end > start) return { start, end };
  throw new VolleyError(
    'RANGE_NOT_SATISFIABLE',
    `The result has ${total} bytes. Request a range within them.`,
    {
      total,
    },
  );
}
