/**
 * The engine alone, under `volley/engine`: it loads the core and the engine, and no package.
 *
 * @module
 */
export type { SharedLimits } from '../core/catalog.ts';
export type { IoIntensity, ResourceRequirements } from '../core/demand.ts';
export { ERROR_CODES, type ErrorCode, VolleyError } from '../core/errors.ts';
export type { Explanation, NamedExecution, QueuedReason, StandingReason } from '../core/explain.ts';
export type { CancellationCause, FailureReason } from '../core/failure.ts';
export type { Labels } from '../core/labels.ts';
export type { PlacementRule, PlacementShortage, WorkerSpec } from '../core/placement.ts';
export type { TimeLeft } from '../core/predict.ts';
export { PRIORITIES, type Priority } from '../core/priority.ts';
export type { QuotaStanding } from '../core/quota.ts';
export type { Random } from '../core/random.ts';
export type { RateOptions } from '../core/rate.ts';
export type { ByResource, NamedResources, ResourceName } from '../core/resource-names.ts';
export type { ResourceLimits } from '../core/resource-table.ts';
export type { CountableLimits, ResourceUsage, ResourceUtilization } from '../core/resources.ts';
export type { RetryOptions } from '../core/retry.ts';
export type { SchedulerLimits } from '../core/scheduler-options.ts';
export {
  type SimulatedAttempt,
  type SimulatedExecution,
  type SimulationOptions,
  type SimulationResult,
  simulate,
} from '../core/simulate.ts';
export type { GroupSpec } from '../core/spec.ts';
export type { ExecutionStatus } from '../core/status.ts';
export type { DependencyPolicy } from '../core/terms.ts';
export type { AttemptUsage, MeasuredClaim, UsageFigures } from '../core/usage.ts';
export type { ExecutionContext } from './context.ts';
export { DependencyGraph, type Dependent, GraphNode, type NodeStatus } from './dependency-graph.ts';
export {
  type EngineLimits,
  type EngineOptions,
  type GroupItem,
  type ItemValue,
  type MapOptions,
  ParallelExecutionEngine,
  type QuotaStatus,
  type RefusedItem,
} from './engine.ts';
export type { ProgressStream } from './event-log.ts';
export { GroupHandle, type GroupOutcome, type RetryNotice } from './group-handle.ts';
export type { CancelResult, ExecutionHandle } from './handle.ts';
export type { AllocationRecord, UtilizationSample } from './history.ts';
export type { Outcome } from './outcome.ts';
export type { AggregatedProgress, ExecutionSnapshot } from './progress-log.ts';
export { ProgressTracker, type ProgressTrackerOptions, type TrackedProgress } from './progress-tracker.ts';
export {
  type AllocationRefusal,
  type AllocationResult,
  type ResourceAllocation,
  ResourceManager,
  type ResourceManagerOptions,
} from './resource-manager.ts';
export type { DurationSummary, ExecutionStatistics, ToolUsage } from './statistics.ts';
export type { Report, Submit, TaskContext, ToolFunction } from './task.ts';
export {
  type LimitReport,
  type Outage,
  OutageError,
  type OutageReport,
  RateLimitedError,
  ToolFailure,
} from './tool-failure.ts';
export type { MissedUpdates, ProgressUpdate } from './updates.ts';
