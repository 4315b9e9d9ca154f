import type { AgentUsage } from '../agents/adapter.ts';
import type { Evidence } from '../verify/evidence.ts';

/** Where an agent had nothing to do with it in the end. */
export const COMPLETED_ELSEWHERE = 'Somebody else completed it: what its agent did does not count.';

/** What one attempt at a subtask came to. */
export interface AttemptRecord {
  readonly agent: string;
  readonly startedAt: number;
  endedAt: number;
  usage: AgentUsage;
  /** What the agent said at its end. */
  word: string | undefined;
  evidence: readonly Evidence[];
  /** All paths that were touched, as far as they can be told apart. */
  touched: readonly string[];
  /** Those of them that are no deliverables. */
  outside: readonly string[];
  denied: readonly string[];
  /** What it or another that worked at the same time changed of what Volley or git runs; it was restored. */
  readonly tampered: string[];
  /** What of that could not be restored, or was moved, in words. */
  readonly notRestored: string[];
  /** Subtasks that others worked on in the same folder meanwhile. */
  readonly beside: Set<string>;
  conflicts: readonly string[];
  /** Where the work is that could not be brought in. */
  kept: string | undefined;
  branch: string | undefined;
  /** Where the agent's word and the evidence differ. */
  discrepancy: string | undefined;
  /** Why it was not enough; undefined where it was. */
  error: string | undefined;
}

/** What is known of the subtasks of a run, by sequence. */
export class Ledger {
  private readonly records = new Map<string, AttemptRecord[]>();

  open(seq: string, agent: string): AttemptRecord {
    const now = Date.now();
    const record: AttemptRecord = {
      agent,
      startedAt: now,
      endedAt: now,
      usage: {},
      word: undefined,
      evidence: [],
      touched: [],
      outside: [],
      denied: [],
      tampered: [],
      notRestored: [],
      beside: new Set(),
      conflicts: [],
      kept: undefined,
      branch: undefined,
      discrepancy: undefined,
      error: undefined,
    };
    this.records.set(seq, [...this.of(seq), record]);
    return record;
  }

  of(seq: string): readonly AttemptRecord[] {
    return this.records.get(seq) ?? [];
  }
}
