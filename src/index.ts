/**
 * The library.
 *
 * @module volley
 */
export type { BatchAnswer, BatchAnswerError } from './batch/answer.ts';
export type { TaskCounts } from './batch/counts.ts';
export {
  BatchExecutor,
  type BatchExecutorOptions,
  type BatchRequest,
} from './batch/executor/batch-executor.ts';
export { BATCH_TOOL_DESCRIPTION } from './batch/executor/description.ts';
export type { RunnableGroup } from './batch/forecast/groups.ts';
export type { RunnableBatch, RunnableOptions, RunnableTask } from './batch/forecast/runnable.ts';
export type { BatchEvent, BatchEventListener, TaskEvent } from './batch/run/events.ts';
export type { LearnedDuration } from './batch/run/learned-durations.ts';
export type { FailedTask, QuotaPause, RunningTask } from './batch/run/monitor.ts';
export type { TaskReport } from './batch/task-report.ts';
export type { BatchView } from './batch/view.ts';
export type {
  AgentSettings,
  CacheSettings,
  CallDefaults,
  ClusterConfig,
  EngineSettings,
  LimitSettings,
  McpAddress,
  McpProgram,
  McpServerSettings,
  McpServeSettings,
  McpSettings,
  McpToolSettings,
  ModelSettings,
  ProcessSettings,
  SecretSettings,
  ServerLimits,
  ServerSettings,
  StoreSettings,
  TaskBudget,
  TaskSettings,
  ThreadSettings,
  TokenSettings,
  ToolSettings,
  VolleyConfig,
} from './config/config.ts';
export { defaultConfig } from './config/config.ts';
export { findConfig, type LoadedConfig, type LoadOptions, loadConfig } from './config/load.ts';
export type { WorkspaceTrust } from './config/trust.ts';
export type { ConfigChange } from './config/watch.ts';
export { type ConfigWatch, watchConfig } from './config/watch.ts';
export type { CallError, CallResult, ToolCall } from './coordinator/call.ts';
export {
  type CoordinatorOptions,
  type ExecuteOptions,
  ParallelToolCoordinator,
  type SingleCallOptions,
} from './coordinator/coordinator.ts';
export {
  type AnthropicImage,
  type AnthropicMessage,
  type AnthropicText,
  type AnthropicTool,
  type AnthropicToolResult,
  type AnthropicToolUse,
  anthropicCalls,
  anthropicResults,
  anthropicTools,
} from './coordinator/formats/anthropic.ts';
export type { JsonValue, ListedTool, ObjectSchema } from './coordinator/formats/common.ts';
export {
  type McpCallRequest,
  type McpCallResult,
  type McpContent,
  type McpTool,
  mcpCall,
  mcpResult,
  mcpTools,
} from './coordinator/formats/mcp.ts';
export {
  type OpenAIChatMessage,
  type OpenAIChatTool,
  type OpenAIChatToolCall,
  type OpenAIChatToolMessage,
  type OpenAIFunctionCall,
  type OpenAIFunctionCallOutput,
  type OpenAIFunctionTool,
  type OpenAIInputImage,
  type OpenAIInputText,
  type OpenAIResponse,
  openaiChatCalls,
  openaiChatResults,
  openaiChatTools,
  openaiResponsesCalls,
  openaiResponsesResults,
  openaiResponsesTools,
} from './coordinator/formats/openai.ts';
export { type ToolNames, toolNames } from './coordinator/formats/tool-names.ts';
export {
  type VercelContent,
  type VercelMessage,
  type VercelToolCall,
  type VercelToolResult,
  vercelCalls,
  vercelResults,
} from './coordinator/formats/vercel.ts';
export type { CachedEntry, CacheStore, StoredCachedEntry } from './coordinator/result-cache.ts';
export {
  type AggregatedProgress,
  type AllocationRecord,
  type AllocationRefusal,
  type AllocationResult,
  type AttemptUsage,
  type ByResource,
  type CancellationCause,
  type CancelResult,
  type CountableLimits,
  DependencyGraph,
  type DependencyPolicy,
  type Dependent,
  type DurationSummary,
  type EngineLimits,
  type EngineOptions,
  ERROR_CODES,
  type ErrorCode,
  type ExecutionContext,
  type ExecutionHandle,
  type ExecutionSnapshot,
  type ExecutionStatistics,
  type ExecutionStatus,
  type Explanation,
  type FailureReason,
  GraphNode,
  GroupHandle,
  type GroupItem,
  type GroupOutcome,
  type GroupSpec,
  type IoIntensity,
  type ItemValue,
  type Labels,
  type LimitReport,
  type MapOptions,
  type MeasuredClaim,
  type MissedUpdates,
  type NamedExecution,
  type NamedResources,
  type NodeStatus,
  type Outage,
  OutageError,
  type OutageReport,
  type Outcome,
  ParallelExecutionEngine,
  type PlacementRule,
  type PlacementShortage,
  PRIORITIES,
  type Priority,
  type ProgressStream,
  ProgressTracker,
  type ProgressTrackerOptions,
  type ProgressUpdate,
  type QueuedReason,
  type QuotaStanding,
  type QuotaStatus,
  type Random,
  RateLimitedError,
  type RateOptions,
  type RefusedItem,
  type Report,
  type ResourceAllocation,
  type ResourceLimits,
  ResourceManager,
  type ResourceManagerOptions,
  type ResourceName,
  type ResourceRequirements,
  type ResourceUsage,
  type ResourceUtilization,
  type RetryNotice,
  type RetryOptions,
  type SchedulerLimits,
  type SharedLimits,
  type SimulatedAttempt,
  type SimulatedExecution,
  type SimulationOptions,
  type SimulationResult,
  type StandingReason,
  type Submit,
  simulate,
  type TaskContext,
  type TimeLeft,
  ToolFailure,
  type ToolFunction,
  type ToolUsage,
  type TrackedProgress,
  type UsageFigures,
  type UtilizationSample,
  VolleyError,
  type WorkerSpec,
} from './engine/index.ts';
export { openCoordinator } from './mcp/open-coordinator.ts';
export { CONTAINS, type Containment, type Fault, type RunnerKind } from './runners/containment.ts';
export { type Diagnosis, diagnose, type Layer, type LayerName } from './runners/process/diagnose.ts';
export type {
  RunLimits,
  Runner,
  RunnerCall,
  RunnerTask,
  SandboxPolicy,
  Spending,
  ToolCode,
  ToolContext,
  ToolRun,
} from './runners/runner.ts';
export { loadStore as openStore } from './store/open/load-store.ts';
export type {
  AddedTasks,
  AttemptRecord,
  BatchRecord,
  CacheUse,
  Completion,
  Delivery,
  FailedAttempt,
  ItemOptions,
  KeptOutput,
  LeaseHolder,
  NewTask,
  OutputChunk,
  OutputLine,
  OutputStreamName,
  ProgramRecord,
  RepeatOptions,
  StoredBlob,
  StoredSpending,
  StoredUsage,
  TaskEnd,
  TaskOptions,
  TaskPause,
  TaskRecord,
  TaskStatus,
} from './store/records.ts';
export type {
  AttemptPage,
  BatchWithTasks,
  HolderRequest,
  ItemQuery,
  ItemResult,
  Lease,
  OutputPage,
  Recovery,
  ResultRange,
  SlowestPage,
  Store,
  TaskOutline,
  TaskQuery,
  TaskSummary,
  Unsuccessful,
} from './store/store.ts';
export type { ParallelAgentTool, ToolInput, ToolOutput } from './tools/agent-tool.ts';
export type { FileSettings, HttpSettings, ShellSettings, ToolSet } from './tools/builtin/environment.ts';
export { defineTool } from './tools/define-tool.ts';
export { loadToolModules } from './tools/modules.ts';
export {
  type ToolAccess,
  type ToolDescription,
  ToolRegistry,
  type WithheldTool,
} from './tools/registry.ts';
export type { CheckResult, CompiledSchema, JsonSchema, SchemaIssue, ToolSchema } from './tools/schema.ts';
export type {
  FromJsonSchema,
  ResultWith,
  ReturnableBy,
  SchemaInput,
  SchemaOutput,
} from './tools/schema-types.ts';
export type {
  CacheDeclaration,
  CacheInputs,
  FileDeclaration,
  FileUse,
  FolderInput,
  InferredToolDefinition,
  Isolation,
  QuotaMethod,
  QuotaNeeds,
  ResourceNeeds,
  Tool,
  ToolDefinition,
  ToolProperties,
} from './tools/tool.ts';
