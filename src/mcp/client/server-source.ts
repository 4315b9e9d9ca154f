import type { Tool as ServerTool } from '@modelcontextprotocol/client';
import picomatch from 'picomatch';
import type { McpServerSettings } from '../../config/config.ts';
import { requireUnchanged, type WorkspaceTrust } from '../../config/trust.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { PREPARING } from '../../coordinator/outcome-error.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { reasonText } from '../../core/words.ts';
import { standInFor } from '../../tools/define-tool.ts';
import type { Tool } from '../../tools/tool.ts';
import type { ToolSource } from '../../tools/tool-source.ts';
import type { Target } from './connection.ts';
import type { McpServerHealth } from './health.ts';
import { MOST_TOOLS } from './limits.ts';
import { type Environment, resolveValues } from './references.ts';
import { ServerLink } from './server-link.ts';
import { limitNameOf, toolNameOf, toolOf } from './server-tool.ts';

/** What a program gets of the environment without being named. */
const USUAL_VARIABLES = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'SystemRoot', 'PATHEXT'];

/** The tools of one server, as tools of a coordinator. */
export class ServerSource implements ToolSource {
  private readonly link: ServerLink;
  private readonly isListed: (tool: string) => boolean;
  private readonly known = new Map<string, Tool>();
  /** Tools that may not be called, with the reason. */
  private readonly refused = new Map<string, string>();
  private hasTold = false;

  constructor(
    readonly name: string,
    private readonly settings: McpServerSettings,
    private readonly coordinator: ParallelToolCoordinator,
    private readonly env: Environment,
    private readonly trust: WorkspaceTrust,
  ) {
    const { redactor } = coordinator.desk;
    const { allow, deny, maxConcurrent, ratePerMinute } = settings;
    const isAllowed = picomatch([...allow], { dot: true });
    const isDenied = picomatch([...deny], { dot: true });
    this.isListed = (tool) => allow.length > 0 && isAllowed(tool) && !(deny.length > 0 && isDenied(tool));
    this.link = new ServerLink({
      name,
      settings,
      target: () => this.target(),
      tools: (tools) => this.take(tools),
      redact: (text) => redactor.text(text),
    });
    const limitName = limitNameOf(name);
    coordinator.engine.setLimits({
      tools: {
        [limitName]: {
          maxConcurrency: maxConcurrent,
          ...(ratePerMinute !== undefined && { rate: { count: ratePerMinute, perMs: 60_000 } }),
        },
        // What waits for the server to start holds a place meanwhile: one, and the others wait for that.
        [`${PREPARING}${limitName}`]: { maxConcurrency: 1 },
      },
    });
  }

  standIn(toolName: string): Tool | undefined {
    if (this.hasTold) return undefined;
    return standInFor(toolName, limitNameOf(this.name), () => this.find(toolName));
  }

  async discover(): Promise<void> {
    // Whoever calls a tool hears of it.
    await this.link.ready().catch(() => {});
  }

  health(): McpServerHealth {
    return this.link.health(this.known.size);
  }

  close(): Promise<void> {
    return this.link.close();
  }

  private async find(toolName: string): Promise<Tool> {
    await this.link.ready();
    const tool = this.known.get(toolName);
    if (tool !== undefined) return tool;
    const reason = this.refused.get(toolName);
    if (reason !== undefined)
      throw new VolleyError('TOOL_NOT_ALLOWED', `The tool ${toolName} may not be called: ${reason}.`);
    const close = nearest(toolName, this.known.keys());
    throw new VolleyError(
      'UNKNOWN_TOOL',
      `The MCP server ${this.name} has no tool ${JSON.stringify(toolName)}${close === undefined ? '.' : `; did you mean ${close}?`}`,
      { name: toolName, nearest: close },
    );
  }

  private take(tools: readonly ServerTool[]): void {
    const { coordinator } = this;
    for (const name of this.known.keys()) coordinator.unregister(name);
    for (const name of this.refused.keys()) coordinator.explainAbsence(name, undefined);
    this.known.clear();
    this.refused.clear();
    for (const told of tools.slice(0, MOST_TOOLS)) {
      const name = toolNameOf(this.name, told.name);
      const reason = this.refusal(told) ?? this.register(told);
      if (reason === undefined || this.known.has(name)) continue;
      this.refused.set(name, reason);
      coordinator.explainAbsence(name, reason);
    }
    this.hasTold = true;
  }

  private refusal({ name, annotations }: ServerTool): string | undefined {
    const owner = `mcp.servers.${this.name}`;
    if (!this.isListed(name)) return `${owner}.allow and deny exclude it`;
    if (annotations?.destructiveHint !== true || annotations.readOnlyHint === true) return undefined;
    if (this.settings.allowDestructive.includes(name)) return undefined;
    return `its server marks it as destructive; add ${JSON.stringify(name)} to ${owner}.allow_destructive if it may`;
  }

  /** Why it could not be taken in. One bad tool is no reason to do without the others. */
  private register(told: ServerTool): string | undefined {
    try {
      const tool = toolOf(this.name, told, this.settings, this.link);
      this.coordinator.register(tool);
      this.known.set(tool.name, tool);
      return undefined;
    } catch (error) {
      return reasonText(error).replace(/\.$/, '');
    }
  }

  private target(): Target {
    requireUnchanged(this.trust);
    const { connection } = this.settings;
    const { redactor } = this.coordinator.desk;
    const [table, field] =
      connection.kind === 'stdio' ? [connection.env, 'env'] : [connection.headers, 'headers'];
    const { values, secrets } = resolveValues(table, this.env, `mcp.servers.${this.name}.${field}`);
    for (const [index, secret] of secrets.entries()) redactor.add(`${this.name} ${index}`, secret);
    if (connection.kind === 'http') return { kind: 'http', url: connection.url, headers: values };
    return { ...connection, env: { ...this.usualVariables(), ...values } };
  }

  private usualVariables(): Record<string, string> {
    return Object.fromEntries(
      USUAL_VARIABLES.flatMap((name) => {
        const value = this.env[name];
        return value === undefined ? [] : [[name, value]];
      }),
    );
  }
}
