import picomatch from 'picomatch';
import { ASK_AGENT, ASK_MODEL } from '../core/ask-tools.ts';
import { VolleyError } from '../core/errors.ts';
import { checkGlob } from '../core/glob.ts';
import { nearest } from '../core/nearest.ts';
import { show } from '../core/numbers.ts';
import { COMPUTE, RUN_PROGRAM } from '../core/script-tools.ts';
import { reasonText } from '../core/words.ts';
import { fromAgentTool, isAgentTool, type ParallelAgentTool } from './agent-tool.ts';
import { isTool } from './define-tool.ts';
import type { JsonSchema } from './schema.ts';
import type { Tool } from './tool.ts';
import { sourceNameOf, type ToolSource } from './tool-source.ts';

/** Which tools may be called, as globs of names. */
export interface ToolAccess {
  /** Default `['*']`. */
  readonly allow?: readonly string[];
  /** Takes precedence over `allow`. Default none. */
  readonly deny?: readonly string[];
}

/** A tool's description for callers. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly readOnly: boolean;
  readonly idempotent: boolean;
}

/** A tool that exists but may not be called. */
export interface WithheldTool {
  readonly name: string;
  /** Why, and what would change that. */
  readonly reason: string;
}

interface Entry {
  readonly tool: Tool;
  readonly source: ParallelAgentTool | undefined;
}

/** The names of the tools that `builtinTools` makes. */
export const BUILTIN_TOOLS: ReadonlySet<string> = new Set([
  'read_file',
  'write_file',
  'list_directory',
  'search_files',
  'code_analyzer_tool',
  'http_request',
  'shell',
  COMPUTE,
  RUN_PROGRAM,
]);

const EXCLUDED = 'the allow and deny lists exclude it';

/** The callable tools, by name. */
export class ToolRegistry {
  private readonly entries = new Map<string, Tool>();
  private readonly toolSources = new Map<string, ToolSource>();
  /** Internal tools: not listed, and not subject to `allow` and `deny`. */
  private readonly internal = new Set<string>();
  /** Why a tool that exists elsewhere is missing here, by name. */
  private readonly absent = new Map<string, string>();
  /** By tool, not name: another tool may take the name while calls of the first are still planned. */
  private conflicts = new WeakMap<Tool, readonly string[]>();
  private readonly sources = new WeakMap<Tool, ParallelAgentTool>();
  private readonly isAllowed: (name: string) => boolean;
  private readonly isCallable: (name: string) => boolean;

  /** `waiting` knows the tools that would exist if the folder were trusted. */
  constructor(
    { allow = ['*'], deny = [] }: ToolAccess = {},
    private readonly waiting: (name: string, isUnlikeOthers: boolean) => VolleyError | undefined = () =>
      undefined,
  ) {
    const [allowed, denied] = [matcher('allow', allow), matcher('deny', deny)];
    this.isAllowed = (name) => allowed(name) && !denied(name);
    // They reach only what is allowed, and batches use them for what they return. So an allow list need not name them.
    const isScript = (name: string) => name === COMPUTE || name === RUN_PROGRAM;
    this.isCallable = (name) => this.isAllowed(name) || (isScript(name) && !denied(name));
  }

  /** Registers tools: all of them or, on error, none. */
  register(...tools: readonly (Tool | ParallelAgentTool)[]): void {
    const added = new Map<string, Entry>();
    for (const given of tools) {
      const entry = toEntry(given);
      const { name } = entry.tool;
      if (this.entries.has(name) || added.has(name)) {
        throw new VolleyError(
          'DUPLICATE_TOOL',
          `There is already a tool named ${name}. Rename one of them.`,
          {
            name,
          },
        );
      }
      added.set(name, entry);
    }
    for (const [name, { tool, source }] of added) {
      this.entries.set(name, tool);
      if (source !== undefined) this.sources.set(tool, source);
    }
    this.conflicts = new WeakMap();
  }

  /** Registers an internal tool, which checks its callers itself. */
  registerInternal(tool: Tool): void {
    this.register(tool);
    this.internal.add(tool.name);
  }

  /** Whether this is the name of an internal tool. @internal */
  hasInternal(name: string): boolean {
    return this.internal.has(name) && this.entries.has(name);
  }

  /** Removes a tool. Running calls continue. */
  unregister(name: string): boolean {
    this.conflicts = new WeakMap();
    return this.entries.delete(name);
  }

  /** Sets the explanation for a missing tool. */
  explainAbsence(name: string, remedy: string): void {
    this.absent.set(name, remedy);
  }

  /** Undoes {@link explainAbsence} for a tool. */
  forgetAbsence(name: string): void {
    this.absent.delete(name);
  }

  /** Adds tools that are loaded later. @internal */
  addSource(source: ToolSource): void {
    if (this.toolSources.has(source.name))
      throw new VolleyError('DUPLICATE_TOOL', `There is already a source of tools named ${source.name}.`);
    this.toolSources.set(source.name, source);
  }

  /** @internal */
  listSources(): ToolSource[] {
    return [...this.toolSources.values()];
  }

  /** Whether this very tool is registered: another may have its name. */
  includes(tool: Tool | ParallelAgentTool): boolean {
    const known = this.entries.get(tool.name);
    return known !== undefined && (known === tool || this.sources.get(known) === tool);
  }

  /** The tools that may be called and that another machine can have, too. */
  portable(): Tool[] {
    return [...this.entries.values()].filter(
      (tool) => this.isCallable(tool.name) && this.canRunElsewhere(tool),
    );
  }

  /** Whether another machine can have the same tool: not if it is internal, runs scripts, asks agents or models, or belongs to a source. */
  canRunElsewhere(tool: Tool): boolean {
    const { name } = tool;
    const isScript = name === COMPUTE || name === RUN_PROGRAM;
    // Logins and keys are here, and so is the budget.
    const isAsking = name === ASK_AGENT || name === ASK_MODEL;
    // What a source has discovered is registered like others, but its servers, logins and locks are here.
    const isFromSource = this.toolSources.has(sourceNameOf(name));
    const isOwn = this.entries.get(name) === tool && !this.internal.has(name);
    return isOwn && !isScript && !isAsking && !isFromSource;
  }

  /** Returns the tool with that name if it exists and may be called; throws otherwise. */
  resolve(name: string): Tool {
    const tool = this.entries.get(name) ?? this.placeholder(name);
    if (tool === undefined) throw this.unknown(name);
    if (!this.isCallable(name) && !this.internal.has(name)) {
      throw new VolleyError('TOOL_NOT_ALLOWED', `The tool ${name} may not be called: ${EXCLUDED}.`, { name });
    }
    return tool;
  }

  /** All callable tools, or those whose names match a glob, sorted by name. */
  list(glob = '*'): ToolDescription[] {
    const matches = matcher('list', [glob]);
    return [...this.entries.values()]
      .filter(({ name }) => matches(name) && this.isListed(name))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(describe);
  }

  /** The tools that exist but may not be called, sorted by name. */
  withheld(): WithheldTool[] {
    const denied = [...this.entries.keys()]
      .filter((name) => !this.isAllowed(name) && !this.internal.has(name))
      .map((name) => ({ name, reason: EXCLUDED }));
    const absent = [...this.absent]
      .filter(([name]) => !this.entries.has(name))
      .map(([name, reason]) => ({ name, reason }));
    return [...denied, ...absent].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The tools that this one declares as conflicting. */
  conflictsOf(tool: Tool): readonly string[] {
    let known = this.conflicts.get(tool);
    if (known === undefined) {
      known = [...tool.conflictsWith, ...this.refusedBy(tool)];
      this.conflicts.set(tool, known);
    }
    return known;
  }

  private isListed(name: string): boolean {
    return this.isAllowed(name) && !this.internal.has(name);
  }

  private refusedBy(tool: Tool): string[] {
    const source = this.sources.get(tool);
    if (source?.canRunParallelWith === undefined) return [];
    try {
      return [...this.entries.keys()].filter((other) => !source.canRunParallelWith!(other));
    } catch (error) {
      throw new VolleyError(
        'INVALID_TOOL',
        `Tool ${tool.name}: canRunParallelWith() failed: ${reasonText(error)}`,
        { tool: tool.name },
      );
    }
  }

  private placeholder(name: string): Tool | undefined {
    if (this.toolSources.size === 0 || typeof name !== 'string') return undefined;
    return this.toolSources.get(sourceNameOf(name))?.placeholder(name);
  }

  private unknown(name: string): VolleyError {
    const callable = [...this.entries.keys()].filter((one) => this.isListed(one));
    const close = nearest(name, callable);
    const waiting = this.waiting(name, close === undefined);
    if (waiting !== undefined) return waiting;
    const reason = this.absent.get(name);
    if (reason !== undefined) {
      return new VolleyError('TOOL_NOT_ALLOWED', `The tool ${name} may not be called: ${reason}.`, { name });
    }
    const hint = BUILTIN_TOOLS.has(name)
      ? 'it is built in, but not registered: coordinator.register(builtinTools()), with builtinTools from "volley/tools".'
      : close !== undefined
        ? `did you mean ${close}?`
        : callable.length === 0
          ? 'none is registered.'
          : `there are ${callable.slice(0, 20).join(', ')}${callable.length > 20 ? ', …' : ''}.`;
    return new VolleyError('UNKNOWN_TOOL', `There is no tool ${show(name)}; ${hint}`, {
      name,
      nearest: close,
    });
  }
}

function toEntry(given: unknown): Entry {
  if (isTool(given)) return { tool: given, source: undefined };
  if (isAgentTool(given)) return { tool: fromAgentTool(given), source: given };
  throw new VolleyError(
    'INVALID_TOOL',
    `register() takes the result of defineTool(), or an object with name and execute(), but it got ${show(given)}.`,
  );
}

function describe(tool: Tool): ToolDescription {
  const { name, description, input, output, readOnly, idempotent } = tool;
  return {
    name,
    description,
    inputSchema: input.jsonSchema ?? {},
    ...(output?.jsonSchema !== undefined && { outputSchema: output.jsonSchema }),
    readOnly,
    idempotent,
  };
}

function matcher(list: string, globs: readonly string[]): (name: string) => boolean {
  if (!Array.isArray(globs) || !globs.every((glob) => typeof glob === 'string' && glob !== '')) {
    throw new VolleyError(
      'INVALID_VALUE',
      `${list} must be a list of globs such as ["read_*"], but it is ${show(globs)}.`,
    );
  }
  for (const glob of globs) checkGlob(glob);
  return globs.length === 0 ? () => false : picomatch([...globs], { dot: true });
}
