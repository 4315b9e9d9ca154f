import { createRoute, z } from '@hono/zod-openapi';
import { batchNameOf } from '../../tasks/files/feature.ts';
import { BOARD_STATES } from '../../tasks/run/feature-board.ts';
import type { RunReport } from '../../tasks/run/report.ts';
import { notRunYet } from '../../tasks/run/report-file.ts';
import { reportText } from '../../tasks/run/report-text.ts';
import { RUN_INPUT } from '../../tasks/run/run-request.ts';
import { type Api, answers, mayTake, REFUSALS, requestOf, secured, takes } from './api.ts';
import { LOG, LOG_QUERY, logBody } from './logs.ts';
import type { ServerParts } from './parts.ts';

const TAGS = ['features'];

/** Routes for features, their subtasks and agent runs. */
export function featureRoutes(api: Api, parts: ServerParts): void {
  const { features, texts } = parts;
  reviewRoutes(api, parts);
  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'listFeatures',
      method: 'get',
      path: '/v1/features',
      tags: TAGS,
      summary: 'Lists all features of the project, by name',
      responses: { 200: answers(z.object({ features: z.array(FEATURE) }), 'All features.'), ...REFUSALS },
    }),
    async (context) => context.json({ features: await features.list() }, 200),
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getFeature',
      method: 'get',
      path: '/v1/features/{feature}',
      tags: TAGS,
      summary: 'Returns the status of a feature and its subtasks',
      request: { params: FEATURE_PATH },
      responses: { 200: answers(FEATURE_DETAIL, 'The feature.'), ...REFUSALS },
    }),
    async (context) => {
      const { data } = await features.status(context.req.valid('param').feature);
      return context.json(copied(data), 200);
    },
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getFeatureBoard',
      method: 'get',
      path: '/v1/features/{feature}/board',
      tags: TAGS,
      summary: 'Returns a feature with how each subtask stands and what its agents have shown',
      request: { params: FEATURE_PATH },
      responses: { 200: answers(BOARD, 'The feature.'), ...REFUSALS },
    }),
    async (context) => {
      const board = await features.board(context.req.valid('param').feature);
      return context.json(copied(board), 200);
    },
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getSubtaskLog',
      method: 'get',
      path: '/v1/features/{feature}/subtasks/{seq}/log',
      tags: TAGS,
      summary: 'Returns a part of the transcript of an agent that worked on a subtask',
      description: 'Attempts are counted over all runs.',
      request: { params: SUBTASK_PATH, query: LOG_QUERY },
      responses: { 200: answers(LOG, 'The lines.'), ...REFUSALS },
    }),
    async (context) => {
      const { feature, seq } = context.req.valid('param');
      return context.json(await logBody(await features.log(feature, seq), context.req.valid('query')), 200);
    },
  );

  api.openapi(
    createRoute({
      ...secured('run'),
      operationId: 'runFeature',
      method: 'post',
      path: '/v1/features/{feature}/run',
      tags: TAGS,
      summary: 'Starts agents on the open subtasks and returns once they have started',
      description:
        'Everything is validated before anything starts. The run is a batch: follow, stop and cancel it by its name.',
      request: { params: FEATURE_PATH, body: mayTake(NEW_RUN) },
      responses: {
        200: answers(RUN, 'There was nothing to run.'),
        202: answers(RUN, 'It runs.'),
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { feature } = context.req.valid('param');
      requestOf(context).subject = feature;
      const { batch, ended } = await features.start(feature, context.req.valid('json') ?? {});
      texts.clear();
      if (!(await features.isRunning(feature))) return context.json(endedBody(feature, await ended), 200);
      context.header('Location', `/v1/batches/${encodeURIComponent(batch)}`);
      return context.json(runningBody(feature), 202);
    },
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getFeatureReport',
      method: 'get',
      path: '/v1/features/{feature}/report',
      tags: TAGS,
      summary: 'Returns the report of the last run',
      request: { params: FEATURE_PATH },
      responses: { 200: answers(RUN, 'The report, unless it still runs.'), ...REFUSALS },
    }),
    async (context) => {
      const { feature } = context.req.valid('param');
      const { state, report } = await features.report(feature);
      if (state === 'running') return context.json(runningBody(feature), 200);
      if (report === undefined) throw notRunYet(feature);
      return context.json(endedBody(feature, report), 200);
    },
  );

  api.openapi(
    createRoute({
      ...secured('run'),
      operationId: 'completeSubtask',
      method: 'post',
      path: '/v1/features/{feature}/subtasks/{seq}/complete',
      tags: TAGS,
      summary: 'Completes a subtask if its work is done',
      request: { params: SUBTASK_PATH, body: takes(COMPLETION) },
      responses: { 200: answers(COMPLETED, 'The findings.'), ...REFUSALS },
    }),
    async (context) => {
      const { feature, seq } = context.req.valid('param');
      requestOf(context).subject = `${feature} ${seq}`;
      const completion = { seq, ...context.req.valid('json') };
      const { data } = await features.complete(feature, completion, context.req.raw.signal);
      return context.json(copied(data), 200);
    },
  );
}

/** A person reviews, so a token that may only run agents is not enough. */
function reviewRoutes(api: Api, { features, texts }: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getSubtaskDiff',
      method: 'get',
      path: '/v1/features/{feature}/subtasks/{seq}/diff',
      tags: TAGS,
      summary: 'Returns the work of a subtask that waits for review, as a diff',
      request: { params: SUBTASK_PATH },
      responses: { 200: answers(DIFF, 'The work.'), ...REFUSALS },
    }),
    async (context) => {
      const { feature, seq } = context.req.valid('param');
      return context.json(copied(await features.diff(feature, seq)), 200);
    },
  );

  api.openapi(
    createRoute({
      ...secured('admin'),
      operationId: 'approveSubtask',
      method: 'post',
      path: '/v1/features/{feature}/subtasks/{seq}/approve',
      tags: TAGS,
      summary: 'Merges work that waits for review, and completes the subtask',
      description:
        'If a run of the feature is live, it merges the work. The answer waits for the merge, which may include checks.',
      request: { params: SUBTASK_PATH, body: takes(APPROVAL) },
      responses: { 200: answers(REVIEWED, 'It is merged.'), ...REFUSALS },
    }),
    async (context) => {
      const { feature, seq } = context.req.valid('param');
      requestOf(context).subject = `${feature} ${seq}`;
      const work = { seq, ...context.req.valid('json') };
      const body = await features.approve(feature, work, context.req.raw.signal);
      texts.clear();
      return context.json(copied(body), 200);
    },
  );

  api.openapi(
    createRoute({
      ...secured('admin'),
      operationId: 'rejectSubtask',
      method: 'post',
      path: '/v1/features/{feature}/subtasks/{seq}/reject',
      tags: TAGS,
      summary: 'Sends work that waits for review back, with a reason for the next attempt',
      request: { params: SUBTASK_PATH, body: takes(REJECTION) },
      responses: { 200: answers(REVIEWED, 'It is sent back.'), ...REFUSALS },
    }),
    async (context) => {
      const { feature, seq } = context.req.valid('param');
      requestOf(context).subject = `${feature} ${seq}`;
      const body = await features.reject(feature, { seq, ...context.req.valid('json') });
      texts.clear();
      return context.json(copied(body), 200);
    },
  );
}

function runningBody(feature: string) {
  return { feature, batch: batchNameOf(feature), state: 'running' as const, report: null, text: null };
}

function endedBody(feature: string, report: RunReport) {
  const batch = batchNameOf(feature);
  return { feature, batch, state: 'ended' as const, report: copied(report), text: reportText(report) };
}

/** The same; the types of answers know no lists that cannot be changed. */
function copied<T>(data: T): Writable<T> {
  return data as Writable<T>;
}

type Writable<T> = T extends readonly (infer E)[]
  ? Writable<E>[]
  : T extends object
    ? { -readonly [K in keyof T]: Writable<T[K]> }
    : T;

const TEXT_TIME = z.string().nullable().describe('ISO 8601.');

const HEAD = {
  feature: z.string().describe('The name of its folder in .tmp/tasks.'),
  name: z.string(),
  status: z.enum(['active', 'completed', 'blocked', 'archived']),
  subtask_count: z.int(),
  completed_count: z.int(),
  running: z.boolean().describe('Whether agents are working on it.'),
};

const FEATURE = z.object(HEAD).openapi('Feature');

const SUBTASK = z
  .object({
    seq: z.string(),
    id: z.string(),
    title: z.string(),
    status: z.string(),
    effective_status: z.string().describe('The status that counts. It differs if a claim has expired.'),
    depends_on: z.array(z.string()),
    parallel: z.boolean(),
    suggested_agent: z.string().nullable(),
    deliverables: z.array(z.string()),
    agent_id: z.string().nullable(),
    lease_until: TEXT_TIME,
    started_at: TEXT_TIME,
    completed_at: TEXT_TIME,
    completion_summary: z.string().nullable(),
    blocked_reason: z.string().nullable(),
    review: z
      .object({
        at: z.string().describe('ISO 8601.'),
        agent: z.string(),
        attempt: z.int(),
        summary: z.string(),
        commit: z.string(),
        branch: z.string(),
        into: z.string().nullable(),
        approved: z.boolean().describe('Whether someone approved it, and the run is about to merge it.'),
      })
      .nullable()
      .describe('Verified work that waits until someone approves or rejects it.'),
    rejected: z.string().nullable().describe('Why the work of the last attempt was rejected.'),
    forced: z.array(z.string()).nullable().describe('What was missing when it was completed with `--force`.'),
  })
  .openapi('Subtask');

const USAGE = z
  .object({
    turns: z.number().optional(),
    inputTokens: z.number().optional(),
    outputTokens: z.number().optional(),
    costUsd: z.number().optional(),
  })
  .openapi('Usage');

const FEATURE_DETAIL = z
  .object({
    ...HEAD,
    subtasks: z.array(SUBTASK),
    unreadable: z.array(z.string()),
    usage: z
      .object({
        total: USAGE,
        by_agent: z.record(z.string(), USAGE),
        by_subtask: z.record(z.string(), USAGE),
      })
      .nullable()
      .describe('What all runs used, as far as agents report it.'),
  })
  .openapi('FeatureDetail');

const BOARD_SUBTASK = SUBTASK.extend({
  state: z
    .enum(BOARD_STATES)
    .describe(
      'ready: it can start now. review: a person decides about its work. failed: the last attempt failed, and nobody works on it.',
    ),
  description: z.string().nullable(),
  acceptance_criteria: z.array(z.string()),
  checks: z.array(z.string()).describe('What must hold besides the deliverables.'),
  step: z.string().nullable().describe('What its agent does now.'),
  worker: z
    .string()
    .nullable()
    .describe('The worker of the cluster on which its agent runs or has run last, if it was one.'),
  error: z.string().nullable().describe('Why it failed.'),
  attempts: z.array(z.int()).describe('Those with a transcript, over all runs.'),
  usage: USAGE,
  result: z
    .object({
      status: z.enum(['completed', 'review', 'failed', 'skipped', 'left']),
      agent: z.string().nullable(),
      reason: z.string().nullable(),
      error: z.string().nullable(),
      skipped_because: z.string().nullable(),
      verified: z.boolean(),
      evidence: z.array(z.object({ subject: z.string(), ok: z.boolean(), text: z.string() })),
      word: z.string().nullable().describe('The last words of the agent.'),
      discrepancy: z.string().nullable(),
      touched: z.array(z.string()).describe('The files it changed.'),
      outside_deliverables: z.array(z.string()),
      denied: z.array(z.string()),
      conflicts: z.array(z.string()),
      branch: z.string().nullable(),
      kept: z.string().nullable().describe('Where work is that was not merged.'),
      attempts: z.int(),
      duration_ms: z.number(),
    })
    .nullable()
    .describe('Of the last run that had it.'),
}).openapi('BoardSubtask');

const BOARD = z
  .object({
    ...HEAD,
    objective: z.string().nullable(),
    exit_criteria: z.array(z.string()),
    usage: USAGE,
    subtasks: z.array(BOARD_SUBTASK),
    unreadable: z.array(z.string()),
  })
  .openapi('FeatureBoard');

export type FeatureBody = z.infer<typeof FEATURE>;
export type FeatureBoardBody = z.infer<typeof BOARD>;
export type RunBody = z.infer<typeof RUN>;
export type DiffBody = z.infer<typeof DIFF>;

const NEW_RUN = z.strictObject(RUN_INPUT.shape).openapi('NewRun');

/** See docs/tasks.md for all fields. */
const REPORT = z
  .looseObject({
    feature: z.string(),
    status: z.enum(['completed', 'review', 'partial', 'failed', 'stopped', 'nothing']),
    subtasks: z.array(
      z.looseObject({
        seq: z.string(),
        status: z.enum(['completed', 'review', 'failed', 'skipped', 'left']),
      }),
    ),
    statistics: z.looseObject({}),
    next: z.looseObject({}),
  })
  .openapi('RunReport');

const RUN = z
  .object({
    feature: z.string(),
    batch: z.string().describe('The batch of the run: /v1/batches/{batch} and its events.'),
    state: z.enum(['running', 'ended']),
    report: REPORT.nullable().describe('Set once the run has ended.'),
    text: z.string().nullable().describe('The report as Markdown.'),
  })
  .openapi('Run');

const COMPLETION = z
  .strictObject({
    summary: z.string().min(1).max(10_000).describe('What was done.'),
    agent: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("Who did it. Refused while another agent's claim is valid."),
  })
  .openapi('Completion');

const COMPLETED = z
  .object({
    feature: z.string(),
    subtask: SUBTASK,
    changed: z.boolean().describe('False if it was completed before.'),
    marked: z.boolean(),
    evidence: z.array(z.object({ subject: z.string(), ok: z.boolean(), text: z.string() })),
    ready: z.array(z.string()).describe('Subtasks that can start now.'),
  })
  .openapi('Completed');

const COMMIT = z
  .string()
  .min(1)
  .max(64)
  .describe('The commit that was reviewed; refused if it is not the latest.');

const APPROVAL = z.strictObject({ commit: COMMIT }).openapi('Approval');

const REJECTION = z
  .strictObject({
    commit: COMMIT,
    why: z.string().min(1).max(10_000).describe('What the next attempt must do.'),
  })
  .openapi('Rejection');

const REVIEWED = z.object({ feature: z.string(), subtask: SUBTASK }).openapi('Reviewed');

const DIFF = z
  .object({
    ...{ feature: z.string(), seq: z.string(), title: z.string(), agent: z.string(), attempt: z.int() },
    ...{ summary: z.string(), at: z.string(), commit: z.string(), base: z.string(), branch: z.string() },
    files: z.array(z.object({ path: z.string(), added: z.int().nullable(), removed: z.int().nullable() })),
    diff: z.string().describe('A unified diff.'),
    truncated: z.boolean(),
  })
  .openapi('SubtaskDiff');

const FEATURE_PATH = z.object({ feature: z.string().min(1).max(255) });

const SUBTASK_PATH = FEATURE_PATH.extend({ seq: z.string().min(1).max(300) });
