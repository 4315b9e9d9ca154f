import { z } from '@hono/zod-openapi';
import { BATCH_VIEW } from './batch.ts';
import { EXECUTION } from './execution.ts';
import { TIME } from './kinds.ts';

/** What can happen to a task or a call. */
const CHANGES = ['started', 'progress', 'retrying', 'completed', 'failed', 'cancelled', 'skipped'] as const;

const CHANGE_FIELDS = {
  attempt: z.int(),
  at: TIME,
  progress: z.number().optional(),
  step: z.string().optional(),
  reason: z.string().optional(),
  retry_in_ms: z.number().optional(),
  quota: z
    .string()
    .optional()
    .describe('If it is retried because a quota is used up: that quota. No attempt was used.'),
  cause: z.string().optional().describe('If it was skipped: the id of the dependency that caused it.'),
};

/**
 * What comes over SSE: the kind is the `event` of the message, this is its `data`, and the `id` is opaque. No arguments,
 * no results, no texts of errors: who may read those asks for them.
 */
export const EVENTS = {
  /** The first event of a stream: how everything stands. Of `/v1/events` without executions. */
  snapshot: z.object({
    batches: z.array(BATCH_VIEW),
    /** Those that run now, and the ones that ended last: at most 200. Only of a batch's stream. */
    executions: z.array(EXECUTION).optional(),
  }),
  /** Something happened to a task. */
  task: z.object({
    batch: z.string(),
    id: z.string(),
    seq: z.int(),
    group: z.string().optional().describe('For an item: the id of its group.'),
    type: z.enum([...CHANGES, 'placed', 'opened']),
    worker: z
      .string()
      .optional()
      .describe('If it was placed: the worker of the cluster that runs the attempt.'),
    code: z.string().optional().describe('If it was skipped for its own reason.'),
    cached: z.boolean().optional().describe('If it completed: whether its result came from the cache.'),
    ...CHANGE_FIELDS,
  }),
  /** Something happened to a call that belongs to no batch: of `/v1/execute`, or of a coordinator in the same process. */
  call: z.object({
    group: z.string().describe('The calls that were submitted together.'),
    id: z.string(),
    name: z.string().describe('The tool.'),
    type: z.enum(CHANGES),
    ...CHANGE_FIELDS,
  }),
  /** Tasks were added to a batch: `from` and `to` are their numbers. */
  added: z.object({ batch: z.string(), from_seq: z.int(), to_seq: z.int(), at: TIME }),
  /** How a batch stands; at most a few times a second for each batch. */
  batch: BATCH_VIEW,
  /** A batch was cleared, as a whole or of some statuses: read it anew. */
  cleared: z.object({ batch: z.string(), at: TIME }),
  /** Events between the last id that the client had, or could keep up with, and now are gone. A snapshot follows. */
  gap: z.object({ missed: z.int().nullable().describe('How many, if known.') }),
  /** The stream ends: the server stops, or the client may not read any more. */
  end: z.object({ reason: z.enum(['shutdown', 'expired']) }),
} as const;

export type EventType = keyof typeof EVENTS;
export type EventBody<T extends EventType> = z.output<(typeof EVENTS)[T]>;
