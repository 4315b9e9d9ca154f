import type { Progress, Tool as ServerTool } from '@modelcontextprotocol/client';
import type { McpServerSettings } from '../../config/config.ts';
import { VolleyError } from '../../core/errors.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import type { ToolContext } from '../../runners/runner.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { type CompiledSchema, compileSchema, describeIssues } from '../../tools/schema.ts';
import type { Tool } from '../../tools/tool.ts';
import { CallFailure } from './call-failure.ts';
import { LONGEST_DESCRIPTION } from './limits.ts';
import { needsOfTool } from './needs.ts';
import { errorTextOf, type McpResult, resultOf } from './result.ts';
import type { ServerLink } from './server-link.ts';
import type { ServerLocks } from './server-locks.ts';

/** The name under which the calls of a server are limited, and its lock. */
export function limitNameOf(server: string): string {
  return `mcp:${server}`;
}

/** The name of a tool in Volley. Servers may use characters that names have not. */
export function toolNameOf(server: string, tool: string): string {
  return `${server}.${tool.replace(/[^\w.-]/g, '_')}`;
}

/** A tool of a server as one of Volley's. Throws where its schema is not valid. */
export function toolOf(
  server: string,
  told: ServerTool,
  settings: McpServerSettings,
  link: ServerLink,
  locks: ServerLocks,
): Tool {
  const { name: ownName, description = '', inputSchema, outputSchema, annotations = {} } = told;
  const name = toolNameOf(server, ownName);
  const readOnly = annotations.readOnlyHint === true;
  const idempotent = readOnly || annotations.idempotentHint === true;
  const { callTimeoutMs: timeoutMs, maxResultBytes } = settings;
  const output = compileSchema(outputSchema, 'output', name);
  const lockName = limitNameOf(server);
  const needs = needsOfTool(lockName, ownName, readOnly, settings);
  const called = { server, name, ownName, output, maxResultBytes, link };
  return defineTool({
    name,
    description: description.slice(0, LONGEST_DESCRIPTION),
    input: inputSchema,
    readOnly,
    idempotent,
    // What a server reads may change by the second.
    dedupe: false,
    unrepeatable: !idempotent,
    limitedAs: lockName,
    resources: needs,
    ...(timeoutMs !== undefined && { timeoutMs }),
    run: (input, context) => {
      const held = typeof needs === 'function' ? needs(input) : needs;
      const wait = {
        signal: context.signal,
        onWait: () => context.report(`waiting for another process that uses the MCP server ${server}`),
      };
      return locks.hold(lockName, held, wait, () => callTool(called, input, context));
    },
  });
}

interface CalledTool {
  readonly server: string;
  readonly name: string;
  /** The name that the server gives it. */
  readonly ownName: string;
  /** What its data must be like. */
  readonly output: CompiledSchema;
  readonly maxResultBytes: number;
  readonly link: ServerLink;
}

async function callTool(tool: CalledTool, input: unknown, context: ToolContext): Promise<McpResult> {
  const { link, name, ownName, maxResultBytes } = tool;
  const { signal } = context;
  let result: Awaited<ReturnType<ServerLink['call']>>;
  try {
    const onprogress = (progress: Progress) => {
      if (!signal.aborted) tell(progress, context);
    };
    result = await link.call(ownName, input, { signal, onprogress });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw failureOf(tool, error);
  }
  if (result.isError === true) throw new ToolFailure(`${name} failed: ${errorTextOf(result)}`);
  const shown = resultOf(`mcp:${name}`, result, maxResultBytes);
  if (shown.data !== undefined) await checkData(tool, shown.data);
  return shown;
}

async function checkData({ name, output }: CalledTool, data: unknown): Promise<void> {
  const checked = await output.check(data);
  if (checked.ok) return;
  const text = `${name} returned a result that does not match its output schema: ${describeIssues(checked.issues)}.`;
  const cause = new VolleyError('INVALID_RESULT', text, { tool: name, issues: checked.issues });
  throw new ToolFailure(text, { retryable: false, cause });
}

function tell({ progress, total, message }: Progress, { report }: ToolContext): void {
  const share = total !== undefined && total > 0 ? Math.min(1, Math.max(0, progress / total)) : Number.NaN;
  if (!Number.isNaN(share)) report(share, message);
  else report(message ?? `progress ${progress}`);
}

/** What became of a call that has no result, in the words of Volley. */
function failureOf({ server, name, link }: CalledTool, error: unknown): unknown {
  if (error instanceof VolleyError && error.code === 'MCP_SERVER_FAILED')
    return new ToolFailure(error.message, { cause: error });
  if (!(error instanceof CallFailure)) return error;
  const { kind, message, isPermanent } = error;
  if (kind === 'refused')
    return new ToolFailure(`${name} was refused: ${message}`, { retryable: !isPermanent });
  if (kind === 'invalid') {
    const text = `The MCP server ${server} answered the call of ${name} with what is no result of a tool: ${message}`;
    const cause = new VolleyError('MCP_SERVER_FAILED', text, { server });
    return new ToolFailure(text, { retryable: false, cause });
  }
  const problem = kind === 'ended' ? (link.lastProblem ?? message) : message;
  const text = `The MCP server ${server} did not answer the call of ${name}. ${problem}`;
  const cause = new VolleyError('MCP_SERVER_FAILED', text, { server });
  // Whether it was done before the answer got lost, nobody knows.
  return new ToolFailure(text, { reason: 'crashed', retryable: !isPermanent, cause });
}
