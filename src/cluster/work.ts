import type { OfferedAgents, OfferedRepository } from '../coordinator/remote-runner.ts';
import type { ResourceRequirements } from '../core/demand.ts';
import type { FailureReason } from '../core/failure.ts';
import type { Labels } from '../core/labels.ts';
import type { WorkerSpec } from '../core/placement.ts';
import type { LimitHit } from '../core/quota.ts';
import type { OutageReport } from '../engine/tool-failure.ts';
import type { Tool } from '../tools/tool.ts';
import type { Shipped } from './artifacts.ts';
import type { SignedMessage } from './signature.ts';

/** What a worker offers, announced with every heartbeat. */
export interface WorkerOffer {
  readonly capacity: NonNullable<WorkerSpec['capacity']>;
  /** Its own labels, its name, and a hash of the schema of each of its tools. */
  readonly labels: Labels;
  /** Set if it runs coding agents. */
  readonly agents?: OfferedAgents;
  readonly version: string;
  readonly host: string;
  readonly pid: number;
}

export const NO_AGENTS: OfferedAgents = { names: [], repositories: [] };

/** What a worker offers; nothing if that has another form. Its capacity and labels are checked when it joins. */
export function checkedOffer(sent: Partial<WorkerOffer> | undefined): WorkerOffer | undefined {
  const { capacity, labels, agents, version, host, pid } = sent ?? {};
  const isObject = [capacity, labels].every((one) => typeof one === 'object' && one !== null);
  if (!isObject || typeof version !== 'string' || typeof host !== 'string' || typeof pid !== 'number')
    return undefined;
  return { ...(sent as WorkerOffer), ...(agents && { agents: checkedAgents(agents) }) };
}

/** The coding agents that a worker says that it offers; none if that has another form. */
function checkedAgents(offered: unknown): OfferedAgents {
  const { names, repositories } = Object(offered) as Partial<OfferedAgents>;
  const isTexts = (list: unknown): list is string[] =>
    Array.isArray(list) && list.length <= MAX_OFFERED && list.every((one) => typeof one === 'string');
  if (!isTexts(names) || !Array.isArray(repositories) || repositories.length > MAX_OFFERED) return NO_AGENTS;
  const isSound = repositories.every((one: unknown) => {
    const { id, name, tips } = Object(one) as Partial<OfferedRepository>;
    return isTexts([id, name]) && isTexts(tips);
  });
  return isSound ? { names, repositories } : NO_AGENTS;
}

const MAX_OFFERED = 1000;

/** An attempt that a worker is to run. */
export interface Assignment {
  readonly toolName: string;
  /** As JSON. */
  readonly input: Shipped;
  readonly needs: ResourceRequirements;
  /** The files of the call, if the worker does not have those of the coordinator. */
  readonly files?: { readonly inputs: Shipped; readonly outputs: readonly string[] };
  /** Whether the coordinator wants to read what it logs. */
  readonly logs?: true;
}

/** How an attempt ended on a worker. */
export type RemoteOutcome = {
  /** How long it ran. */
  readonly durationMs?: number;
} & RemoteEnd;

type RemoteEnd =
  /** The value as JSON; undefined if the tool returned nothing. */
  | {
      readonly status: 'completed';
      readonly value: Shipped | undefined;
      /** What it wrote, if its files were sent. */
      readonly files?: Shipped;
    }
  | {
      readonly status: 'failed';
      readonly reason: FailureReason;
      readonly retryable: boolean;
      readonly error: { readonly name: string; readonly message: string; readonly code?: string };
      /** Set if a quota was used up. Without times of day, because clocks differ. */
      readonly limit?: LimitHit;
      readonly outage?: OutageReport;
    }
  | { readonly status: 'cancelled' }
  /** It was taken back before it began. */
  | { readonly status: 'returned' }
  /** The worker knows that it has ended, but no longer how. */
  | { readonly status: 'lost' };

/** The data of a job: attempts that go to a worker together, each signed for itself. */
export interface DeliveredCalls {
  readonly calls: readonly SignedMessage[];
}

/** Progress of an attempt; nothing if that has another form. */
export function checkedProgress(sent: Partial<RemoteProgress> | undefined): RemoteProgress | undefined {
  const { progress, step, log, hasBegun } = sent ?? {};
  const isShare = progress === undefined || (typeof progress === 'number' && progress >= 0 && progress <= 1);
  const isText = [step, log].every((text) => text === undefined || typeof text === 'string');
  if (sent === undefined || !isShare || !isText) return undefined;
  return { progress, step, ...(log !== undefined && { log }), ...(hasBegun === true && { hasBegun }) };
}

/** How an attempt ended, by a message of its worker; nothing if that has another form. */
export function checkedOutcome(sent: Partial<RemoteOutcome> | undefined): RemoteOutcome | undefined {
  const { status, durationMs } = sent ?? {};
  const isTime = durationMs === undefined || (Number.isFinite(durationMs) && durationMs >= 0);
  return isTime && OUTCOMES.has(status) ? (sent as RemoteOutcome) : undefined;
}

const OUTCOMES: ReadonlySet<RemoteOutcome['status'] | undefined> = new Set([
  'completed',
  'failed',
  'cancelled',
  'returned',
  'lost',
]);

/** Progress of an attempt. */
export interface RemoteProgress {
  readonly progress: number | undefined;
  readonly step: string | undefined;
  readonly log?: string;
  /** It has begun only now, after it waited for room. */
  readonly hasBegun?: true;
}

/** The name of a worker. Its sessions are that, and something random. */
export function nameOf(session: string): string {
  return session.slice(0, session.lastIndexOf('.'));
}

const FILE_TOOLS: ReadonlySet<string> = new Set([
  'read_file',
  'write_file',
  'list_directory',
  'search_files',
  'code_analyzer_tool',
  'shell',
]);

/** Whether a tool is known to use files: those of Volley that do, and those that declare them. */
export function usesFiles({ name, cache, files }: Pick<Tool, 'name' | 'cache' | 'files'>): boolean {
  return cache !== undefined || files !== undefined || FILE_TOOLS.has(name);
}
