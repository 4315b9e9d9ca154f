import {
  type CallToolResult,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Scope } from '../../batch/actions/define-action.ts';
import { readInput, withUnderstood } from '../../batch/input/understand.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { reasonText } from '../../core/words.ts';
import { batchExecutorTool } from './batch-executor-tool.ts';
import { batchResultsTool, batchStatusTool } from './batch-tools.ts';
import type { CallCount } from './call-count.ts';
import { tasksCompleteTool, tasksReportTool, tasksRunTool, tasksStatusTool } from './feature-tools.ts';
import { listFunctionsTool } from './list-functions-tool.ts';
import { runBatchTool, runProgramTool } from './run-tools.ts';
import { shortSchema } from './short-schema.ts';
import { takesTasks, taskBody, taskState, taskView } from './task-state.ts';
import type { McpBackend, McpCall, McpProfile, OpenBackend, ServedTool, ToolAnswer } from './tool.ts';

/** In the order in which clients list them: what models should reach for comes first. */
const SMALL_TOOLS: readonly ServedTool[] = [
  runProgramTool,
  runBatchTool,
  listFunctionsTool,
  batchResultsTool,
];

const FEATURE_TOOLS: readonly ServedTool[] = [
  tasksRunTool,
  tasksReportTool,
  tasksStatusTool,
  tasksCompleteTool,
];

/** All tools. Those that a client does not see can be called, too. */
export const MCP_TOOLS: readonly ServedTool[] = [
  ...SMALL_TOOLS,
  batchStatusTool,
  batchExecutorTool,
  ...FEATURE_TOOLS,
];

/** Which tools a client sees. It is asked before the backend is opened. */
export interface Offer {
  profile(): Promise<McpProfile>;
  /** Whether there is a feature in .tmp/tasks. */
  hasFeatures(): Promise<boolean>;
}

/** The tools that a client sees. */
export function offeredTools(profile: McpProfile, hasFeatures: boolean): readonly ServedTool[] {
  if (profile === 'small') return SMALL_TOOLS;
  return hasFeatures ? MCP_TOOLS : MCP_TOOLS.filter((tool) => !FEATURE_TOOLS.includes(tool));
}

/** What calls of a client are served with. */
export interface ToolServing {
  readonly open: OpenBackend;
  readonly offer: Offer;
  readonly calls: CallCount;
  /** Hears of defects of ours. */
  onError(error: unknown): void;
}

/** What a client that takes tasks waits for before it gets one: most batches end sooner. */
const WAIT_BEFORE_TASK_SECONDS = 5;

/** Over HTTP every request has a server of its own, so they are shared. */
const descriptions = { default: new Map<ServedTool, Tool>(), small: new Map<ServedTool, Tool>() };

/** Serves the tools, plainly and as tasks for clients that ask for that. */
export function serveTools({ server }: McpServer, host: ToolServing, era: 'legacy' | 'modern'): void {
  const { profile, hasFeatures } = host.offer;
  /** What was last announced to the client. */
  let hadFeatures: boolean | undefined;
  server.setRequestHandler('tools/list', async () => {
    hadFeatures = await hasFeatures();
    const shown = await profile();
    return { tools: offeredTools(shown, hadFeatures).map((tool) => describeTool(tool, shown)) };
  });
  /** Looks only after a call, which is when features come and go. */
  const tellChange = async () => {
    if (hadFeatures === undefined || hadFeatures === (await hasFeatures())) return;
    hadFeatures = !hadFeatures;
    await server.sendToolListChanged();
  };
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = MCP_TOOLS.find(({ name }) => name === params.name) ?? unknownTool(params.name);
    const isTask = era === 'legacy' ? params.task !== undefined : takesTasks(context);
    const taskAfter =
      isTask && tool.asTask === true ? (era === 'legacy' ? 0 : WAIT_BEFORE_TASK_SECONDS) : undefined;
    const result = await host.calls.during(() =>
      answer(tool, params.arguments ?? {}, context, host, era, taskAfter),
    );
    // A client that has disconnected has no use for it.
    if (era === 'legacy') tellChange().catch(() => undefined);
    return result;
  });
}

/** A tool as clients list it. */
export function describeTool(tool: ServedTool, profile: McpProfile): Tool {
  const known = descriptions[profile].get(tool);
  if (known !== undefined) return known;
  const { name, title, description, input, output, annotations, asTask, rare = [] } = tool;
  const outputSchema = z.toJSONSchema(output, { io: 'input', unrepresentable: 'any' });
  const described: Tool = {
    name,
    title,
    description,
    inputSchema: shortSchema(input, profile === 'small' ? rare : []) as Tool['inputSchema'],
    outputSchema: outputSchema as NonNullable<Tool['outputSchema']>,
    annotations: { title, ...annotations },
    ...(asTask === true && { execution: { taskSupport: 'optional' } }),
  };
  descriptions[profile].set(tool, described);
  return described;
}

function unknownTool(name: string): never {
  const close = nearest(
    name,
    MCP_TOOLS.map((tool) => tool.name),
  );
  const hint = close === undefined ? '' : `; did you mean ${close}?`;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${name.slice(0, 200)}${hint}`);
}

/** A failure is an answer that a model can read, never an error of the protocol. */
async function answer(
  { name, scope, input, run }: ServedTool,
  given: unknown,
  context: ServerContext,
  { open, offer, onError }: ToolServing,
  era: 'legacy' | 'modern',
  taskAfter: number | undefined,
): Promise<CallToolResult> {
  try {
    requireCallerScope(context, typeof scope === 'string' ? scope : scope(given));
    const backend = await open();
    const call: McpCall = {
      ...createCall(context, backend, await offer.profile()),
      taskAfterSeconds: taskAfter,
    };
    const { args, understood } = readInput(input, name, given);
    const result = withUnderstood(await run(args, call), understood);
    if (result.task === undefined) return toolResult(result);
    const task = taskBody(taskState(await taskView(backend, result.task)), era);
    return era === 'modern' ? { content: [], resultType: 'task', ...task } : { content: [], task };
  } catch (error) {
    if (!(error instanceof VolleyError) || error.code === 'INTERNAL') onError(error);
    return { content: [{ type: 'text', text: reasonText(error) }], isError: true };
  }
}

/** HTTP callers have scopes. The user who started this process may do everything. */
export function requireCallerScope({ http }: ServerContext, scope: Scope): void {
  const { authInfo } = http ?? {};
  if (http === undefined || authInfo?.scopes.includes(scope) === true) return;
  throw new VolleyError(
    'NOT_PERMITTED',
    `This needs the scope "${scope}", but the token of ${authInfo?.clientId ?? 'the client'} does not have it: use another token.`,
    { needed: scope },
  );
}

export function createCall({ mcpReq }: ServerContext, backend: McpBackend, profile: McpProfile): McpCall {
  const { progressToken } = mcpReq._meta ?? {};
  return {
    backend,
    profile,
    signal: mcpReq.signal,
    report:
      progressToken === undefined
        ? undefined
        : (progress, total, message) =>
            mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken, progress, total, message },
            }),
    log: (level, data) => {
      // A client that has disconnected has no use for it.
      mcpReq.log(level, data, 'volley').catch(() => undefined);
    },
  };
}

/** An answer as the protocol has it. */
export function toolResult({ text, data, content = [], isError = false }: ToolAnswer): CallToolResult {
  return {
    content: [{ type: 'text', text }, ...content],
    ...(Object.keys(data).length > 0 && { structuredContent: data }),
    ...(isError && { isError }),
  };
}
