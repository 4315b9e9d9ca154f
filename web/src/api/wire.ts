import type { ProblemBody } from '../../../src/server/http/problem.ts';
import type {
  DiffBody,
  FeatureBoardBody,
  FeatureBody,
  RunBody,
} from '../../../src/server/routes/features.ts';
import type { LogBody } from '../../../src/server/routes/logs.ts';
import type { BatchBody } from '../../../src/server/wire/batch.ts';
import type { EventBody, EventType } from '../../../src/server/wire/event.ts';
import type { AttemptBody, ExecutionBody, ExecutionDetailBody } from '../../../src/server/wire/execution.ts';
import type { StatisticsBody } from '../../../src/server/wire/statistics.ts';
import type { WorkersBody } from '../../../src/server/wire/worker.ts';

export type Batch = BatchBody;
export type Log = LogBody;
export type LogLine = Log['lines'][number];
export type Feature = FeatureBody;
export type FeatureBoard = FeatureBoardBody;
export type Subtask = FeatureBoard['subtasks'][number];
export type FeatureRun = RunBody;
export type SubtaskDiff = DiffBody;
export type Execution = ExecutionBody;
export type ExecutionDetail = ExecutionDetailBody;
export type AttemptDetail = AttemptBody;
export type Statistics = StatisticsBody;
export type Workers = WorkersBody;
export type Problem = ProblemBody;
export type Status = Execution['status'];
export type TaskEvent = EventBody<'task'>;

/** An event of the stream with its kind. */
export type LiveEvent = { [T in EventType]: { readonly kind: T; readonly data: EventBody<T> } }[EventType];

/** One try of one execution, as the list for the timeline has it. */
export interface BatchAttempt {
  readonly id: string;
  readonly attempt: number;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly duration_ms: number | null;
  readonly outcome: AttemptBody['outcome'];
  readonly worker: string | null;
}
