import { z } from '@hono/zod-openapi';
import { RUN_INPUT } from '../../tasks/run/run-request.ts';

const TEXT_TIME = z.string().nullable().describe('ISO 8601.');

const HEAD = {
  feature: z.string().describe('The name of its folder in .tmp/tasks.'),
  name: z.string(),
  status: z.enum(['active', 'completed', 'blocked', 'archived']),
  subtask_count: z.int(),
  completed_count: z.int(),
  running: z.boolean().describe('Whether agents work on it now.'),
};

export const FEATURE = z.object(HEAD).openapi('Feature');

const SUBTASK = z
  .object({
    seq: z.string(),
    id: z.string(),
    title: z.string(),
    status: z.string(),
    effective_status: z.string().describe('What counts: it differs where a claim ran out.'),
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
  })
  .openapi('Subtask');

export const FEATURE_DETAIL = z
  .object({ ...HEAD, subtasks: z.array(SUBTASK), unreadable: z.array(z.string()) })
  .openapi('FeatureDetail');

export const NEW_RUN = z.strictObject(RUN_INPUT.shape).openapi('NewRun');

/** Programs that need more of it find all fields in docs/tasks.md. */
const REPORT = z
  .looseObject({
    feature: z.string(),
    status: z.enum(['completed', 'partial', 'failed', 'stopped', 'nothing']),
    subtasks: z.array(
      z.looseObject({ seq: z.string(), status: z.enum(['completed', 'failed', 'skipped', 'left']) }),
    ),
    statistics: z.looseObject({}),
    next: z.looseObject({}),
  })
  .openapi('RunReport');

export const RUN = z
  .object({
    feature: z.string(),
    batch: z.string().describe('The batch that the run is: /v1/batches/{batch} and its events.'),
    state: z.enum(['running', 'ended']),
    report: REPORT.nullable().describe('When it has ended.'),
    text: z.string().nullable().describe('The report as Markdown.'),
  })
  .openapi('Run');

export const COMPLETION = z
  .strictObject({
    summary: z.string().min(1).max(10_000).describe('What was done.'),
    agent: z.string().min(1).max(200).optional().describe("Who did it; refused while another's claim holds."),
  })
  .openapi('Completion');

export const COMPLETED = z
  .object({
    feature: z.string(),
    subtask: SUBTASK,
    changed: z.boolean().describe('False if it was completed before.'),
    marked: z.boolean(),
    evidence: z.array(z.object({ subject: z.string(), ok: z.boolean(), text: z.string() })),
    ready: z.array(z.string()).describe('What can be started now.'),
  })
  .openapi('Completed');

export const FEATURE_PATH = z.object({ feature: z.string().min(1).max(255) });

export const SUBTASK_PATH = FEATURE_PATH.extend({ seq: z.string().min(1).max(300) });
