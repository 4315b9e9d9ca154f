export type { SharedLimits } from './core/catalog.ts';
export type { IoIntensity, ResourceName, ResourceRequirements } from './core/demand.ts';
export { ERROR_CODES, type ErrorCode, VolleyError } from './core/errors.ts';
export type { Explanation, NamedExecution, QueuedReason, StandingReason } from './core/explanation.ts';
export type { FailureReason } from './core/failure.ts';
export { DependencyGraph, type Dependent, GraphNode } from './core/graph.ts';
export type { TimeLeft } from './core/predict.ts';
export { PRIORITIES, type Priority } from './core/priority.ts';
export type { Random } from './core/random.ts';
export type { RateOptions } from './core/rate.ts';
export {
  type AllocationRefusal,
  type AllocationResult,
  type ResourceAllocation,
  type ResourceLimits,
  ResourceManager,
  type ResourceUsage,
  type ResourceUtilization,
} from './core/resources.ts';
export type { RetryOptions } from './core/retry.ts';
export type { SchedulerLimits } from './core/scheduler-options.ts';
export {
  type SimulatedAttempt,
  type SimulatedExecution,
  type SimulationOptions,
  type SimulationResult,
  simulate,
} from './core/simulate.ts';
export type { GroupSpec } from './core/spec.ts';
export type { ExecutionStatus } from './core/status.ts';
export type { DependencyPolicy } from './core/terms.ts';
export type { ExecutionContext } from './engine/context.ts';
export {
  type EngineLimits,
  type EngineOptions,
  type GroupItem,
  ParallelExecutionEngine,
} from './engine/engine.ts';
export { GroupHandle, type GroupOutcome } from './engine/group-handle.ts';
export type { CancelResult, ExecutionHandle } from './engine/handle.ts';
export type { AllocationRecord, UtilizationSample } from './engine/history.ts';
export type { Outcome } from './engine/outcome.ts';
export { type AggregatedProgress, ProgressTracker } from './engine/progress-tracker.ts';
export type { DurationSummary, ExecutionStatistics } from './engine/statistics.ts';
export type { ProgressStream } from './engine/subscription.ts';
export type { Report, TaskContext, ToolFunction } from './engine/task.ts';
export { ToolFailure } from './engine/tool-failure.ts';
export type { MissedUpdates, ProgressUpdate } from './engine/updates.ts';
