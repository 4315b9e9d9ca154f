import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Tool as ServerTool } from '@modelcontextprotocol/client';
import picomatch from 'picomatch';
import type { McpServerSettings, VolleyConfig } from '../../config/config.ts';
import type { EnvironmentVariables } from '../../config/environment.ts';
import { requireUnchanged } from '../../config/trust.ts';
import { PREPARING } from '../../coordinator/call-options.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { reasonText } from '../../core/words.ts';
import { placeholderFor } from '../../tools/define-tool.ts';
import type { WithheldTool } from '../../tools/registry.ts';
import type { Tool } from '../../tools/tool.ts';
import type { ToolSource } from '../../tools/tool-source.ts';
import type { Target } from './connection.ts';
import { MAX_TOOLS } from './limits.ts';
import { LoginStore, ServerLogin } from './logins.ts';
import { type McpServerHealth, ServerLink } from './server-link.ts';
import { ServerLocks } from './server-locks.ts';
import { limitNameOf, toolNamesOf, toolOf } from './server-tool.ts';

/** `env:NAME`, by itself or after something and a space: `Bearer env:NAME`. */
const REFERENCE = /^(.* )?env:([A-Za-z_][A-Za-z0-9_]*)$/;
/** Fields whose values are secret, even if they are in the file. */
const SECRET_FIELD = /auth|cookie|token|secret|key|password/i;

/** Values of the configuration as they are sent, and those of them that must not be shown. */
interface ResolvedValues {
  readonly values: Record<string, string>;
  readonly secrets: readonly string[];
}

/** Replaces the references in a table of the configuration; `owner` is for the error: `mcp.servers.tickets.headers`. */
export function resolveValues(
  table: Readonly<Record<string, string>>,
  env: EnvironmentVariables,
  owner: string,
): ResolvedValues {
  const values: Record<string, string> = {};
  const secrets: string[] = [];
  for (const [name, text] of Object.entries(table)) {
    const [, before = '', variable] = REFERENCE.exec(text) ?? [];
    if (variable === undefined) {
      values[name] = text;
      if (SECRET_FIELD.test(name)) secrets.push(text);
      continue;
    }
    const value = env[variable];
    if (value === undefined || value === '') {
      throw new VolleyError(
        'MCP_SERVER_FAILED',
        `${owner}.${name} refers to the environment variable ${variable}, which is not set.`,
        { variable },
      );
    }
    values[name] = before + value;
    secrets.push(value);
  }
  return { values, secrets };
}

/** Whether the headers say who calls, so that no login is used. */
export function namesCaller(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
}

/** Whether a name matches one of the globs. A slash in it is a letter like any other: `*` matches `issues/list`. */
function matcherOf(globs: readonly string[]): (name: string) => boolean {
  if (globs.length === 0) return () => false;
  const flat = (text: string) => text.replaceAll('/', '\u2215');
  const matches = picomatch(globs.map(flat), { dot: true });
  return (name) => matches(flat(name));
}

/** How long tools are looked at before others have their turn. */
const SLICE_MS = 10;
/** So many secrets of logins are kept out of texts: those of the last few renewals. */
const MAX_LOGIN_SECRETS = 32;
/** What a program gets of the environment without being named. */
const USUAL_VARIABLES = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'SystemRoot', 'PATHEXT'];

/** A folder among the arguments of a program that is not among its roots: servers that follow roots ignore it. */
function rootsHint(name: string, { connection, roots }: McpServerSettings): string | undefined {
  if (connection.kind !== 'stdio' || roots.length === 0) return undefined;
  const { args, cwd } = connection;
  const ignored = args.find((arg) => {
    const folder = resolve(cwd, arg);
    return !roots.includes(folder) && statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  });
  if (ignored === undefined) return undefined;
  return `it is given the roots ${roots.join(', ')}, and a server that follows this ignores its argument ${JSON.stringify(ignored)}. To keep the argument, set roots = [] under [mcp.servers.${name}] of volley.toml.`;
}

/** The tools of one server, as tools of a coordinator. */
export class ServerSource implements ToolSource {
  private readonly link: ServerLink;
  private readonly locks: ServerLocks;
  private readonly isListed: (tool: string) => boolean;
  private readonly known = new Map<string, Tool>();
  /** Tools that may not be called, with the reason. */
  private readonly refused = new Map<string, string>();
  private hasTold = false;
  private readonly loginSecrets: string[] = [];
  private loginSecretCount = 0;
  /** Which list of tools is the newest. */
  private turn = 0;

  constructor(
    readonly name: string,
    private readonly settings: McpServerSettings,
    private readonly coordinator: ParallelToolCoordinator,
    private readonly env: EnvironmentVariables,
    private readonly config: Pick<VolleyConfig, 'store' | 'trust'>,
  ) {
    const { redactor } = coordinator;
    const { allow, deny, maxConcurrent, ratePerMinute } = settings;
    const [isAllowed, isDenied] = [matcherOf(allow), matcherOf(deny)];
    this.isListed = (tool) => isAllowed(tool) && !isDenied(tool);
    this.link = new ServerLink({
      name,
      settings,
      target: () => this.target(),
      tools: (tools) => this.take(tools),
      redact: (text) => redactor.text(text),
    });
    this.locks = new ServerLocks(name, config.store.file, settings);
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

  placeholder(toolName: string): Tool | undefined {
    if (this.hasTold) return undefined;
    return placeholderFor(toolName, limitNameOf(this.name), () => this.find(toolName));
  }

  async discover(): Promise<void> {
    // A call of one of its tools reports the failure.
    await this.link.ready().catch(() => {});
  }

  health(): McpServerHealth {
    return this.link.health(this.known.size);
  }

  /** Tools of the server that cannot be called, with the reason. */
  withheld(): WithheldTool[] {
    return [...this.refused].map(([name, reason]) => ({ name, reason }));
  }

  /** What the user should know of how the server is configured. */
  hint(): string | undefined {
    return rootsHint(this.name, this.settings);
  }

  async close(): Promise<void> {
    await this.link.close();
    this.locks.close();
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

  /** Takes the tools in all at once, after each has been looked at: thousands of schemas take their time. */
  private async take(tools: readonly ServerTool[]): Promise<void> {
    const { coordinator } = this;
    const turn = ++this.turn;
    const found = new Map<string, Tool>();
    const refused = new Map<string, string>();
    let sliceEnd = performance.now() + SLICE_MS;
    const taken = tools.slice(0, MAX_TOOLS);
    const names = toolNamesOf(
      this.name,
      taken.map((listed) => listed.name),
    );
    for (const listed of taken) {
      if (performance.now() > sliceEnd) {
        await nextTurn();
        // Another list has come meanwhile.
        if (turn !== this.turn) return;
        sliceEnd = performance.now() + SLICE_MS;
      }
      const name = names.get(listed.name)!;
      if (found.has(name)) continue;
      const result = this.refusal(listed) ?? this.toolOf(name, listed);
      if (typeof result === 'string') refused.set(name, result);
      else found.set(name, result);
    }
    for (const name of this.known.keys()) coordinator.unregister(name);
    for (const name of this.refused.keys()) coordinator.explainAbsence(name, undefined);
    this.known.clear();
    this.refused.clear();
    for (const tool of found.values()) this.register(tool, refused);
    for (const [name, reason] of refused) {
      if (this.known.has(name)) continue;
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
    return `its server marks it as destructive; to allow it, add ${JSON.stringify(name)} to ${owner}.allow_destructive`;
  }

  /** Returns the tool, or why it cannot be used. A bad tool does not affect the others. */
  private toolOf(name: string, listed: ServerTool): Tool | string {
    try {
      return toolOf(this.name, name, listed, this.settings, this.link, this.locks);
    } catch (error) {
      return reasonText(error).replace(/\.$/, '');
    }
  }

  private register(tool: Tool, refused: Map<string, string>): void {
    try {
      this.coordinator.register(tool);
      this.known.set(tool.name, tool);
    } catch (error) {
      refused.set(tool.name, reasonText(error).replace(/\.$/, ''));
    }
  }

  private target(): Target {
    requireUnchanged(this.config.trust);
    const { connection } = this.settings;
    const { redactor } = this.coordinator;
    const [table, field] =
      connection.kind === 'stdio' ? [connection.env, 'env'] : [connection.headers, 'headers'];
    const { values, secrets } = resolveValues(table, this.env, `mcp.servers.${this.name}.${field}`);
    for (const [index, secret] of secrets.entries()) redactor.add(`${this.name} ${index}`, secret);
    if (connection.kind === 'http') {
      const { url } = connection;
      return { kind: 'http', url, headers: values, login: namesCaller(values) ? undefined : this.login(url) };
    }
    return { ...connection, env: { ...this.usualVariables(), ...values } };
  }

  private login(url: string): ServerLogin {
    const { redactor } = this.coordinator;
    return new ServerLogin({
      server: this.name,
      url,
      logins: new LoginStore(this.env),
      hide: (secrets) => {
        for (const secret of secrets) {
          if (this.loginSecrets.includes(secret)) continue;
          // The oldest have ended long ago.
          const index = this.loginSecretCount++ % MAX_LOGIN_SECRETS;
          this.loginSecrets[index] = secret;
          redactor.add(`${this.name} login ${index}`, secret);
        }
      },
    });
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
