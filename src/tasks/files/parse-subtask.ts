import type { ProcessIdentity } from '../../store/process-identity.ts';
import { type Claim, SUBTASK_STATUSES, type Subtask } from '../feature.ts';
import type { Problem } from '../problem.ts';
import { seqOf, seqOfFile, seqOfReference } from '../seq.ts';
import { Fields } from './fields.ts';
import { parseChecks } from './parse-checks.ts';

/** Reads a subtask from what its file holds, and notes what is wrong with it. */
export function parseSubtask(
  feature: string,
  file: string,
  data: Readonly<Record<string, unknown>>,
  problems: Problem[],
): Subtask {
  const fields = new Fields(data, `${feature}/${file}`, problems);
  // The name of the file decides: no two files have the same.
  const seq = seqOfFile(file)!;
  const stated = fields.text('seq');
  const id = fields.text('id') ?? `${feature}-${seq}`;
  if (id !== `${feature}-${seq}`)
    fields.note('id', `"id" is ${JSON.stringify(id)}.`, `Write "${feature}-${seq}".`);
  return {
    file,
    seq,
    statedSeq: stated === undefined ? undefined : seqOf(stated),
    id,
    title: fields.text('title') ?? id,
    description: fields.text('description'),
    status: fields.word('status', SUBTASK_STATUSES, 'pending', 'blocked'),
    dependsOn: [...new Set(fields.texts('depends_on').map((one) => seqOfReference(one, feature)))],
    parallel: fields.flag('parallel') ?? false,
    contextFiles: fields.references('context_files'),
    referenceFiles: fields.references('reference_files'),
    suggestedAgent: fields.text('suggested_agent'),
    priority: fields.text('priority'),
    acceptanceCriteria: fields.texts('acceptance_criteria'),
    deliverables: fields.texts('deliverables'),
    verification: parseChecks(fields),
    agentId: fields.text('agent_id'),
    startedAt: fields.time('started_at'),
    completedAt: fields.time('completed_at'),
    completionSummary: fields.text('completion_summary'),
    blockedReason: fields.text('blocked_reason'),
    claim: readClaim(fields),
    marked: readMark(fields.raw('marked')),
  };
}

function readMark(value: unknown): Subtask['marked'] {
  const { summary } = (value ?? {}) as Record<string, unknown>;
  return typeof summary === 'string' ? { summary } : undefined;
}

function readClaim(fields: Fields): Claim | undefined {
  const value = fields.raw('claim');
  if (value === undefined) return undefined;
  const { agent, heartbeat_at, lease_until, process } = value as Record<string, unknown>;
  const [heartbeatAt, leaseUntil] = [heartbeat_at, lease_until].map((time) => Date.parse(String(time)));
  if (typeof agent !== 'string' || Number.isNaN(heartbeatAt) || Number.isNaN(leaseUntil)) {
    fields.note(
      'wrong-type',
      '"claim" lacks an agent or the times of its lease.',
      'Take it out, or release the subtask.',
    );
    return undefined;
  }
  return { agent, heartbeatAt: heartbeatAt!, leaseUntil: leaseUntil!, process: readProcess(process) };
}

function readProcess(value: unknown): ProcessIdentity | undefined {
  const { pid, host, boot, namespace, start } = (value ?? {}) as Record<string, unknown>;
  if (typeof pid !== 'number' || typeof host !== 'string' || typeof boot !== 'string') return undefined;
  const textIfAny = (part: unknown) => (typeof part === 'string' ? part : undefined);
  return { pid, host, boot, namespace: textIfAny(namespace), start: textIfAny(start) };
}
