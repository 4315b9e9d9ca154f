import { z } from 'zod';
import type { AgentEvent } from '../../agents/adapter.ts';
import { defineTool } from '../../tools/define-tool.ts';
import type { Tool } from '../../tools/tool.ts';
import type { AgentRequest } from './mailbox.ts';

/** The internal tool of a worker that runs an agent. */
const RUN_AGENT = 'run_coding_agent';
/** Relative to the folder of the call: what the coordinator sends, and what the worker returns. */
const SENT = 'sent';
export const SENT_BUNDLE = `${SENT}/work.bundle`;
/** A folder with the task files of the feature and the context of the session, in the place of the project. */
export const SENT_PROJECT = `${SENT}/project`;
export const RETURNED = 'returned';
export const RETURNED_BUNDLE = `${RETURNED}/work.bundle`;
export const RETURNED_EVENTS = `${RETURNED}/events.jsonl`;

const MAX_TEXT = 1024 * 1024;
const text = z.string().max(MAX_TEXT);
const count = z.number().nonnegative().finite();
const object = z.string().regex(/^[0-9a-f]{40,64}$/);
const usage = z.strictObject({
  turns: count.optional(),
  inputTokens: count.optional(),
  outputTokens: count.optional(),
  costUsd: count.optional(),
});

/** What the agent of an attempt is to do on a worker. */
const INPUT = z.strictObject({
  feature: z.string(),
  seq: z.string(),
  /** The repository, by the id that all of its clones have. Where the clone is, only the worker knows. */
  repository: z.string(),
  /** The path of the project in the repository: empty, or ends with `/`. */
  prefix: z.string(),
  /** The commit that it begins with. */
  commit: object,
  isBundled: z.boolean(),
  agent: z.string(),
  /** The name under which it has claimed the subtask. */
  claim: z.string(),
  prompt: text,
  /** What stands in the prompt for the folder with the files of the project. */
  projectMark: z.string(),
  deniedPaths: z.array(z.string()),
  allowedCommands: z.array(z.string()).optional(),
  timeoutMs: z.number().positive(),
  stallMs: z.number().positive(),
  budget: z.strictObject({ turns: count.optional(), tokens: count.optional(), cost: count.optional() }),
  usedBefore: usage,
});

export type RunAgentInput = z.infer<typeof INPUT>;

/** Why it was terminated; `error`: it did what no agent may do there. */
const failure = z.strictObject({ reason: z.enum(['stalled', 'budget', 'error']), message: text });
const seqFields = { feature: z.string().max(1000), seq: z.string().max(1000) };

/** What a worker says about an attempt. All of it is only a report: the coordinator checks the work. */
const RESULT = z.strictObject({
  /** A commit on top of the one that was sent. Undefined if nothing was changed. */
  commit: object.optional(),
  /** Undefined if the agent was terminated. */
  exit: z
    .strictObject({ exitCode: z.number().optional(), signal: z.string().max(100).optional(), errors: text })
    .optional(),
  failure: failure.optional(),
  log: z.strictObject({
    usage,
    lastText: text.optional(),
    result: z.strictObject({ ok: z.boolean(), text, isProse: z.literal(true).optional() }).optional(),
  }),
  /** The last request of the agent to its run. */
  request: z
    .union([
      z.strictObject({ action: z.literal('complete'), ...seqFields, summary: text }),
      z.strictObject({ action: z.literal('block'), ...seqFields, reason: text }),
    ])
    .optional(),
  /** What else happened in its clone. */
  warnings: z.array(text).max(100),
});

export type RunAgentOutput = z.infer<typeof RESULT> & { readonly request?: AgentRequest | undefined };

/** Undefined if a worker has returned anything else. */
export function checkedOutput(value: unknown): RunAgentOutput | undefined {
  return RESULT.safeParse(value).data;
}

const EVENT = z.union([
  z.strictObject({ type: z.literal('text'), text }),
  z.strictObject({ type: z.literal('tool'), name: text, detail: text.optional() }),
  z.strictObject({ type: z.literal('output'), ok: z.boolean(), text }),
  usage.extend({ type: z.literal('usage') }),
  z.strictObject({ type: z.literal('result'), ok: z.boolean(), text, isProse: z.literal(true).optional() }),
  z.strictObject({ type: z.enum(['stderr', 'raw']), text }),
]);

/** What the agent prints, as its transcript has it. */
export type PrintedEvent = AgentEvent | { readonly type: 'stderr' | 'raw'; readonly text: string };

/** A part of what an agent has printed. Numbered, since parts can be lost on their way. */
const PART = z.strictObject({ from: z.int().nonnegative(), events: z.array(EVENT).max(10_000) });

interface PrintedPart {
  readonly from: number;
  readonly events: readonly PrintedEvent[];
}

export function checkedPart(json: string): PrintedPart | undefined {
  try {
    return PART.safeParse(JSON.parse(json)).data as PrintedPart | undefined;
  } catch {
    return undefined;
  }
}

/** The tool as both sides know it. Only on a worker it runs anything. */
export function runAgentTool(
  run: (input: RunAgentInput, context: WorkerContext) => Promise<RunAgentOutput>,
): Tool {
  return defineTool<RunAgentInput, RunAgentOutput>({
    name: RUN_AGENT,
    description: 'Runs a coding agent in a clone of this worker. Used only by volley tasks run.',
    input: INPUT,
    files: { inputs: { folders: [{ path: SENT }] }, outputs: [RETURNED] },
    run: (input, { folder, signal, log }) => run(input, { folder: folder!, signal, log }),
  });
}

export interface WorkerContext {
  /** The folder of the call. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly log: (text: string) => void;
}
