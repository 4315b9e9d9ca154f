import type { McpTool } from '../tool.ts';
import { batchExecutorTool } from './batch-executor.ts';
import { batchResultsTool } from './batch-results.ts';
import { batchStatusTool } from './batch-status.ts';
import { listFunctionsTool } from './list-functions.ts';
import { runBatchTool } from './run-batch.ts';
import { tasksCompleteTool } from './tasks-complete.ts';
import { tasksReportTool } from './tasks-report.ts';
import { tasksRunTool } from './tasks-run.ts';
import { tasksStatusTool } from './tasks-status.ts';

/** In the order in which clients list them: what models should reach for comes first. */
export const MCP_TOOLS: readonly McpTool[] = [
  runBatchTool,
  listFunctionsTool,
  batchStatusTool,
  batchResultsTool,
  batchExecutorTool,
  tasksRunTool,
  tasksReportTool,
  tasksStatusTool,
  tasksCompleteTool,
];
