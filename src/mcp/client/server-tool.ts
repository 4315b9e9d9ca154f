import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type {
  CallToolResult,
  ContentBlock,
  Progress,
  Tool as ServerTool,
} from '@modelcontextprotocol/client';
import type { McpServerSettings } from '../../config/config.ts';
import type { ResourceRequirements } from '../../core/demand.ts';
import { VolleyError } from '../../core/errors.ts';
import { NO_NEEDS } from '../../core/resource-table.ts';
import { TOO_DEEP, unwritableText } from '../../core/words.ts';
import { RateLimitedError, ToolFailure } from '../../engine/tool-failure.ts';
import { isTooDeep } from '../../runners/process/channel.ts';
import type { ToolContext } from '../../runners/runner.ts';
import { base64Bytes, contentPartsOf, replaceBinary } from '../../tools/content-parts.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { limitInText } from '../../tools/limit-text.ts';
import { type CompiledSchema, compileSchema, describeIssues } from '../../tools/schema.ts';
import type { ResourceNeeds, Tool } from '../../tools/tool.ts';
import { CallFailure, isLoginNeeded } from './call-failure.ts';
import type { CalledName } from './connection.ts';
import { MAX_BINARY_BYTES, MAX_DESCRIPTION_LENGTH } from './limits.ts';
import type { ServerLink } from './server-link.ts';
import type { ServerLocks } from './server-locks.ts';

/** With more values than these, a call locks the whole server. */
const MAX_VALUES = 32;
/** Longer values are replaced by a digest. */
const MAX_NAME_LENGTH = 256;

/**
 * What calls of a tool need. Many servers lose concurrent writes, though each call reports success. So only tools that
 * declare themselves read-only run concurrently, unless the configuration allows more. A call that may run next to
 * others holds the lock of the server as shared; any other call holds it exclusively.
 */
function needsOfTool(
  lockName: string,
  toolName: string,
  readsOnly: boolean,
  { connection, parallel, tools }: McpServerSettings,
): ResourceNeeds<unknown> {
  const own = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
  const mayShare = own?.parallel ?? (parallel === 'all' || (parallel === 'read-only' && readsOnly));
  const amounts: ResourceRequirements = {
    ...NO_NEEDS,
    ...(connection.kind === 'http' ? { network: true } : { io: 'low' }),
    ...own?.resources,
  };
  const alone = { ...amounts, exclusive: [lockName] };
  const shared = { ...amounts, shared: [lockName] };
  const { lock } = own ?? {};
  if (lock === undefined) return mayShare ? shared : alone;
  const folder = connection.kind === 'stdio' ? connection.cwd : '/';
  return (input) => {
    const values = valuesOf(input, lock, folder);
    if (values === undefined) return mayShare ? shared : alone;
    const names = values.map((value) => `${lockName} ${lock}=${value}`);
    return mayShare && readsOnly
      ? { ...amounts, shared: [lockName, ...names] }
      : { ...amounts, shared: [lockName], exclusive: names };
  };
}

/** Returns the normalized value that distinguishes calls: `a.txt` and `./a.txt` are the same file. Undefined if none. */
function valuesOf(input: unknown, argument: string, folder: string): string[] | undefined {
  const given = (input as Record<string, unknown> | null)?.[argument];
  const values = Array.isArray(given) ? given : [given];
  const isTold = values.length > 0 && values.length <= MAX_VALUES;
  if (!isTold || values.some((value) => value === undefined || value === null)) return undefined;
  return [...new Set(values.map((value) => nameOf(value, folder)))];
}

function nameOf(value: unknown, folder: string): string {
  const name = typeof value === 'string' ? resolve(folder, value) : JSON.stringify(value);
  return name.length <= MAX_NAME_LENGTH ? name : createHash('sha256').update(name).digest('hex');
}

/** The name under which the calls of a server are limited, and its lock. */
export function limitNameOf(server: string): string {
  return `mcp:${server}`;
}

const HASH_LENGTH = 6;

/**
 * The names of a server's tools in Volley, by the server's own. Characters that are not allowed here are replaced:
 * `issues/list` becomes `server.issues_list`. If another tool has that name, a hash distinguishes them, whatever the
 * order in which they are listed.
 */
export function toolNamesOf(server: string, tools: readonly string[]): Map<string, string> {
  const owners = new Map<string, Set<string>>();
  const plainOf = (tool: string) => tool.replace(/[^\w.-]/g, '_');
  for (const tool of tools) {
    const plain = plainOf(tool);
    owners.set(plain, (owners.get(plain) ?? new Set()).add(tool));
  }
  return new Map(
    tools.map((tool) => {
      const plain = plainOf(tool);
      const isClear = plain === tool || owners.get(plain)?.size === 1;
      const hash = createHash('sha256').update(tool).digest('hex').slice(0, HASH_LENGTH);
      return [tool, `${server}.${isClear ? plain : `${plain}_${hash}`}`];
    }),
  );
}

/** A tool of a server as one of Volley's. Throws where its schema is not valid. */
export function toolOf(
  server: string,
  name: string,
  listed: ServerTool,
  settings: McpServerSettings,
  link: ServerLink,
  locks: ServerLocks,
): Tool {
  const { name: ownName, description = '', inputSchema, outputSchema, annotations = {}, execution } = listed;
  const readOnly = annotations.readOnlyHint === true;
  const idempotent = readOnly || annotations.idempotentHint === true;
  const { callTimeoutMs: timeoutMs, maxResultBytes } = settings;
  const output = compileSchema(outputSchema, 'output', name);
  const lockName = limitNameOf(server);
  const needs = needsOfTool(lockName, ownName, readOnly, settings);
  const called = { name: ownName, isTask: execution?.taskSupport === 'required' };
  const tool = { server, name, called, output, maxResultBytes, link };
  return defineTool({
    name,
    description: description.slice(0, MAX_DESCRIPTION_LENGTH),
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
      return locks.hold(lockName, held, wait, () => callTool(tool, input, context));
    },
  });
}

interface CalledTool {
  readonly server: string;
  readonly name: string;
  readonly called: CalledName;
  /** What its data must be like. */
  readonly output: CompiledSchema;
  readonly maxResultBytes: number;
  readonly link: ServerLink;
}

async function callTool(tool: CalledTool, input: unknown, context: ToolContext): Promise<McpResult> {
  const { link, name, called, maxResultBytes } = tool;
  const { signal } = context;
  let result: Awaited<ReturnType<ServerLink['call']>>;
  try {
    const onprogress = (progress: Progress) => {
      if (!signal.aborted) reportProgress(progress, context);
    };
    const onoutput = (stream: 'stderr' | 'log', chunk: Buffer | string) => {
      if (stream === 'log') context.log(chunk.toString());
      else context.output?.(stream, chunk);
    };
    result = await link.call(called, input, { signal, onprogress, onoutput });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw failureOf(tool, error);
  }
  if (result.isError === true) throw toolError(`${name} failed: ${errorTextOf(result)}`);
  const shown = resultOf(`mcp:${name}`, result, maxResultBytes);
  if (shown.data !== undefined) await checkData(tool, shown.data);
  return shown;
}

/** A server says in its own words that a limit of its service is reached. */
function toolError(message: string, retryable = true): ToolFailure {
  const limit = limitInText(message, Date.now());
  return limit === undefined ? new ToolFailure(message, { retryable }) : new RateLimitedError(message, limit);
}

async function checkData({ name, output }: CalledTool, data: unknown): Promise<void> {
  const checked = await output.check(data);
  if (checked.ok) return;
  const text = `${name} returned a result that does not match its output schema: ${describeIssues(checked.issues)}.`;
  const cause = new VolleyError('INVALID_RESULT', text, { tool: name, issues: checked.issues });
  throw new ToolFailure(text, { retryable: false, cause });
}

function reportProgress({ progress, total, message }: Progress, { report }: ToolContext): void {
  const share = total !== undefined && total > 0 ? Math.min(1, Math.max(0, progress / total)) : Number.NaN;
  if (!Number.isNaN(share)) report(share, message);
  else report(message ?? `progress ${progress}`);
}

/** What became of a call that has no result, in the words of Volley. */
function failureOf({ server, name, link }: CalledTool, error: unknown): unknown {
  if (error instanceof VolleyError && error.code === 'MCP_SERVER_FAILED')
    return new ToolFailure(error.message, { cause: error });
  if (isLoginNeeded(error)) return new ToolFailure(error.message, { retryable: false, cause: error });
  if (!(error instanceof CallFailure)) return error;
  const { kind, message, isPermanent } = error;
  if (kind === 'refused') return toolError(`${name} was refused: ${message}`, !isPermanent);
  if (kind === 'invalid') {
    const text = `The MCP server ${server} returned an invalid result for ${name}: ${message}`;
    const cause = new VolleyError('MCP_SERVER_FAILED', text, { server });
    return new ToolFailure(text, { retryable: false, cause });
  }
  const problem = kind === 'ended' ? (link.lastProblem ?? message) : message;
  const text = `The MCP server ${server} did not answer the call of ${name}. ${problem}`;
  const cause = new VolleyError('MCP_SERVER_FAILED', text, { server });
  // It may have been done before the answer was lost.
  return new ToolFailure(text, { reason: 'crashed', retryable: !isPermanent, cause });
}

/** The result of a server's tool. It is untrusted data, never an instruction. */
interface McpResult {
  /** Where it comes from: `mcp:files.read_file`. */
  readonly source: string;
  /** The texts, joined by line breaks. Left out where they only repeat the data. */
  readonly text?: string;
  /** How long the text was, where it was cut. */
  readonly cut_from_characters?: number;
  readonly data?: unknown;
  /** What is neither: pictures, sound, links and files. */
  readonly parts?: readonly object[];
}

/** A result in a form that references and people can use, not larger than `maxBytes`. */
function resultOf(source: string, result: CallToolResult, maxBytes: number): McpResult {
  const { structuredContent: data } = result;
  const dataText = data === undefined ? '' : jsonOf(source, data);
  if (Buffer.byteLength(dataText) > maxBytes) throw tooLarge(source, maxBytes);
  const text = textOf(result);
  const isRepeated = data !== undefined && repeats(text, data);
  const room = maxBytes - Buffer.byteLength(dataText);
  const shown = isRepeated ? '' : cut(text, room);
  const parts = result.content.filter(({ type }) => type !== 'text');
  let binaryBytes = 0;
  const described = replaceBinary({ parts }, (_, base64) => {
    binaryBytes += base64Bytes(base64);
    return '';
  });
  if (binaryBytes > MAX_BINARY_BYTES) throw tooMuchBinary(source);
  if (Buffer.byteLength(jsonOf(source, contentPartsOf(described))) > room) throw tooLarge(source, maxBytes);
  return {
    source,
    ...((shown !== '' || (data === undefined && parts.length === 0)) && { text: shown }),
    ...(!isRepeated && shown.length < text.length && { cut_from_characters: text.length }),
    ...(data !== undefined && { data }),
    ...(parts.length > 0 && { parts }),
  };
}

/** What a failed call says, for people. */
function errorTextOf(result: CallToolResult): string {
  const text = textOf(result);
  return text === '' ? 'it did not say why' : text;
}

function textOf({ content }: CallToolResult): string {
  return content.flatMap((block: ContentBlock) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

/** Servers are to send data as text, too, for clients that know no data: as JSON, or the one text that the data is. */
function repeats(text: string, data: unknown): boolean {
  if (typeof data === 'object' && data !== null) {
    const values = Object.values(data);
    if (values.length === 1 && values[0] === text) return true;
  }
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    return isDeepStrictEqual(JSON.parse(text), data);
  } catch {
    return false;
  }
}

function cut(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text).subarray(0, maxBytes);
  // The last character may have been cut in half.
  return bytes.toString().replace(/\uFFFD$/, '');
}

function jsonOf(source: string, value: unknown): string {
  let json: string;
  try {
    json = JSON.stringify(value);
  } catch (cause) {
    throw unusable(source, unwritableText(cause), cause);
  }
  // Newer versions of Node write any depth, but not everybody who reads it can go there.
  if (isTooDeep(Buffer.from(json))) throw unusable(source, TOO_DEEP);
  return json;
}

function unusable(source: string, why: string, cause?: unknown): VolleyError {
  const message = `The result of ${source} cannot be used: ${why}.`;
  return new VolleyError('UNSERIALISABLE_RESULT', message, {}, { cause });
}

function tooLarge(source: string, maxBytes: number): VolleyError {
  return new VolleyError(
    'RESULT_TOO_LARGE',
    `The result of ${source} has more than ${maxBytes} bytes: ask for less, or raise max_result_bytes of the server.`,
  );
}

function tooMuchBinary(source: string): VolleyError {
  return new VolleyError(
    'RESULT_TOO_LARGE',
    `The pictures, sound and files in the result of ${source} have more than ${MAX_BINARY_BYTES} bytes: ask for less.`,
  );
}
