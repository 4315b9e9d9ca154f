export type { BatchAnswer, BatchAnswerError } from './batch/answer.ts';
export { BatchExecutor, type BatchExecutorOptions } from './batch/batch-executor.ts';
export type { TaskCounts } from './batch/counts.ts';
export { BATCH_TOOL_DESCRIPTION } from './batch/description.ts';
export type { BatchEvent, BatchEventListener, TaskEvent } from './batch/events.ts';
export type { LearnedDuration } from './batch/forecast/learned.ts';
export type { RunnableBatch, RunnableOptions, RunnableTask } from './batch/forecast/runnable.ts';
export type { BatchListener, CompletedTask, FailedTask, RunningTask } from './batch/run/monitor.ts';
export type { TaskReport } from './batch/task-report.ts';
export type { BatchView } from './batch/view.ts';
export type { ConfigChange } from './config/change.ts';
export type {
  AgentSettings,
  CallDefaults,
  EngineSettings,
  LimitSettings,
  McpAddress,
  McpProgram,
  McpServerSettings,
  McpSettings,
  McpToolSettings,
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
export { defaultConfig } from './config/default-config.ts';
export { findConfig, type LoadedConfig, type LoadOptions, loadConfig } from './config/load.ts';
export type { WorkspaceTrust } from './config/trust.ts';
export { type ConfigWatch, watchConfig } from './config/watch.ts';
export type { CallError, CallResult, ToolCall } from './coordinator/call.ts';
export {
  type CoordinatorOptions,
  type ExecuteOptions,
  ParallelToolCoordinator,
} from './coordinator/coordinator.ts';
export {
  type AnthropicMessage,
  type AnthropicTool,
  type AnthropicToolResult,
  type AnthropicToolUse,
  anthropicCalls,
  anthropicResults,
  anthropicTools,
} from './coordinator/formats/anthropic.ts';
export {
  type McpCallRequest,
  type McpCallResult,
  type McpTool,
  mcpCall,
  mcpResult,
  mcpTools,
} from './coordinator/formats/mcp.ts';
export { type ToolNames, toolNames } from './coordinator/formats/names.ts';
export {
  type OpenAIChatMessage,
  type OpenAIChatTool,
  type OpenAIChatToolCall,
  type OpenAIChatToolMessage,
  openaiChatCalls,
  openaiChatResults,
  openaiChatTools,
} from './coordinator/formats/openai-chat.ts';
export {
  type OpenAIFunctionCall,
  type OpenAIFunctionCallOutput,
  type OpenAIFunctionTool,
  type OpenAIResponse,
  openaiResponsesCalls,
  openaiResponsesResults,
  openaiResponsesTools,
} from './coordinator/formats/openai-responses.ts';
export type { ListedTool, ObjectSchema } from './coordinator/formats/schemas.ts';
export type { JsonValue } from './coordinator/formats/text.ts';
export {
  type VercelMessage,
  type VercelToolCall,
  type VercelToolResult,
  vercelCalls,
  vercelResults,
} from './coordinator/formats/vercel.ts';
export type { SharedLimits } from './core/catalog.ts';
export type { IoIntensity, ResourceName, ResourceRequirements } from './core/demand.ts';
export { ERROR_CODES, type ErrorCode, VolleyError } from './core/errors.ts';
export type { Explanation, NamedExecution, QueuedReason, StandingReason } from './core/explanation.ts';
export type { FailureReason } from './core/failure.ts';
export { DependencyGraph, type Dependent } from './core/graph.ts';
export { GraphNode } from './core/graph-node.ts';
export type { TimeLeft } from './core/predict.ts';
export { PRIORITIES, type Priority } from './core/priority.ts';
export type { Random } from './core/random.ts';
export type { RateOptions } from './core/rate.ts';
export type { ResourceLimits } from './core/resource-table.ts';
export {
  type AllocationRefusal,
  type AllocationResult,
  type ResourceAllocation,
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
export { GroupHandle, type GroupOutcome, type RetryNotice } from './engine/group-handle.ts';
export type { CancelResult, ExecutionHandle } from './engine/handle.ts';
export type { AllocationRecord, UtilizationSample } from './engine/history.ts';
export type { Outcome } from './engine/outcome.ts';
export { type AggregatedProgress, ProgressTracker } from './engine/progress-tracker.ts';
export type { DurationSummary, ExecutionStatistics } from './engine/statistics.ts';
export type { ProgressStream } from './engine/subscription.ts';
export type { Report, TaskContext, ToolFunction } from './engine/task.ts';
export { ToolFailure } from './engine/tool-failure.ts';
export type { MissedUpdates, ProgressUpdate } from './engine/updates.ts';
export { openCoordinator } from './mcp/open-coordinator.ts';
export { CONTAINS, type Containment, type Fault, type RunnerKind } from './runners/containment.ts';
export type { Diagnosis, Layer, LayerName } from './runners/process/diagnose.ts';
export { diagnose } from './runners/process/diagnose-system.ts';
export type {
  RunLimits,
  Runner,
  RunnerCall,
  RunnerTask,
  SandboxPolicy,
  ToolCode,
  ToolContext,
  ToolRun,
} from './runners/runner.ts';
export type {
  AddedTasks,
  AttemptRecord,
  BatchRecord,
  Completion,
  FailedAttempt,
  LeaseHolder,
  NewTask,
  TaskEnd,
  TaskOptions,
  TaskPause,
  TaskRecord,
  TaskStatus,
} from './store/records.ts';
export { openStore } from './store/sqlite-store.ts';
export type {
  AttemptPage,
  HolderRequest,
  Lease,
  Recovery,
  ResultRange,
  SlowestPage,
  Store,
  TaskQuery,
} from './store/store.ts';
export type { ParallelAgentTool } from './tools/agent-tool.ts';
export type { FileSettings, HttpSettings, ShellSettings } from './tools/builtin/environment.ts';
export { defineTool } from './tools/define-tool.ts';
export { loadToolModules } from './tools/modules.ts';
export { type ToolAccess, type ToolDescription, ToolRegistry } from './tools/registry.ts';
export type { CheckResult, CompiledSchema, JsonSchema, SchemaIssue, ToolSchema } from './tools/schema.ts';
export type { Isolation, ResourceNeeds, Tool, ToolDefinition, ToolProperties } from './tools/tool.ts';
