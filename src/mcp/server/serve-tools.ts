import {
  type CallToolResult,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { reasonText } from '../../core/words.ts';
import { jsonSchemaOf } from './json-schema.ts';
import { taskBody } from './tasks/serve-tasks.ts';
import { taskState, taskView } from './tasks/task-state.ts';
import { takesTasks } from './tasks/tasks-extension.ts';
import type { McpCall, McpTool } from './tool.ts';
import { callOf, contentOf, requireScope, type ToolHost } from './tool-host.ts';
import { MCP_TOOLS } from './tools/all.ts';

/** What a client that takes tasks waits for before it gets one: most batches end sooner. */
const WAIT_BEFORE_TASK_SECONDS = 5;

let listed: Tool[] | undefined;

/** Serves the tools, plainly and as tasks for clients that ask for that. */
export function serveTools({ server }: McpServer, host: ToolHost, era: 'legacy' | 'modern'): void {
  server.setRequestHandler('tools/list', () => {
    listed ??= MCP_TOOLS.map(toListed);
    return { tools: listed };
  });
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = MCP_TOOLS.find(({ name }) => name === params.name) ?? unknown(params.name);
    const isTask = era === 'legacy' ? params.task !== undefined : takesTasks(context);
    const taskAfter =
      isTask && tool.asTask === true ? (era === 'legacy' ? 0 : WAIT_BEFORE_TASK_SECONDS) : undefined;
    return host.calls.during(() => answer(tool, params.arguments ?? {}, context, host, era, taskAfter));
  });
}

function toListed({ name, title, description, input, output, annotations, asTask }: McpTool): Tool {
  return {
    name,
    title,
    description,
    inputSchema: jsonSchemaOf(input) as Tool['inputSchema'],
    outputSchema: jsonSchemaOf(output) as NonNullable<Tool['outputSchema']>,
    annotations: { title, ...annotations },
    ...(asTask === true && { execution: { taskSupport: 'optional' } }),
  };
}

function unknown(name: string): never {
  const close = nearest(
    name,
    MCP_TOOLS.map((tool) => tool.name),
  );
  const hint = close === undefined ? '' : `; did you mean ${close}?`;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${name.slice(0, 200)}${hint}`);
}

/** A failure is an answer that a model can read, never an error of the protocol. */
async function answer(
  tool: McpTool,
  given: unknown,
  context: ServerContext,
  { open, onError }: ToolHost,
  era: 'legacy' | 'modern',
  taskAfter: number | undefined,
): Promise<CallToolResult> {
  try {
    requireScope(context, tool.scopeOf(given));
    const backend = await open();
    const call: McpCall = { ...callOf(context, backend), taskAfterSeconds: taskAfter };
    const result = await tool.run(given, call);
    if (result.task === undefined) return contentOf(result);
    const task = taskBody(taskState(await taskView(backend, result.task)), era);
    return era === 'modern' ? { content: [], resultType: 'task', ...task } : { content: [], task };
  } catch (error) {
    if (!(error instanceof VolleyError) || error.code === 'INTERNAL') onError(error);
    return { content: [{ type: 'text', text: reasonText(error) }], isError: true };
  }
}
