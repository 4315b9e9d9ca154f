import type { AgentUsage } from '../../../src/agents/adapter.ts';
import { usageText } from '../../../src/agents/usage.ts';
import type { FeatureBoard, Subtask } from '../api/wire.ts';

export type BoardState = Subtask['state'];

/** The columns in the order in which work gets done. */
export const COLUMNS: readonly (readonly [state: BoardState, text: string])[] = [
  ['waiting', 'Waiting'],
  ['ready', 'Ready'],
  ['running', 'Running'],
  ['review', 'Review'],
  ['blocked', 'Blocked'],
  ['failed', 'Failed'],
  ['completed', 'Completed'],
];

export interface Column {
  readonly state: BoardState;
  readonly text: string;
  readonly subtasks: readonly Subtask[];
}

export function columnsOf({ subtasks }: Pick<FeatureBoard, 'subtasks'>): Column[] {
  return COLUMNS.map(([state, text]) => ({
    state,
    text,
    subtasks: subtasks.filter((one) => one.state === state),
  })).filter(({ subtasks: own }) => own.length > 0);
}

/** The batch that is the run of a feature. */
export function batchOf(feature: string): string {
  return `feature-${feature}`;
}

/** How many pieces of evidence were found, in words; empty if none was looked for. */
export function evidenceText({ result }: Pick<Subtask, 'result'>): string {
  const { evidence = [] } = result ?? {};
  if (evidence.length === 0) return '';
  const passed = evidence.filter(({ ok }) => ok).length;
  return `${passed} of ${evidence.length} checks passed`;
}

/** `14 turns, 48210 tokens, $0.42`; empty if nothing is known. */
export function costText({ usage }: Pick<Subtask, 'usage'>): string {
  return usageText(usage as AgentUsage);
}
