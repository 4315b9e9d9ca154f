import picomatch from 'picomatch';
import type { VolleyConfig } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { trustText, untrustedTool } from '../../config/trust.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { printableJson, printableLine } from '../../core/printable-text.ts';
import { countText, listText } from '../../core/words.ts';
import { mcpHealth, serverHints, withheldTools } from '../../mcp/client/attach.ts';
import type { McpServerHealth } from '../../mcp/client/server-link.ts';
import { createFullCoordinator } from '../../mcp/open-coordinator.ts';
import type { ToolDescription, WithheldTool } from '../../tools/registry.ts';
import { EXIT, type Io } from '../output/io.ts';
import { noteTrust, writeNote } from '../output/messages.ts';
import { padEndToWidth, textWidth, wrapHanging } from '../output/text-layout.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';

interface ToolsOptions extends CommonOptions {
  readonly schema?: boolean;
}

const DEFAULT_COLUMNS = 80;
/** With less room, descriptions go below the names. */
const MIN_DESCRIPTION_WIDTH = 30;

export const toolsCommand = defineCommand<ToolsOptions>({
  examples: ['volley tools', 'volley tools read_file', "volley tools 'read_*' --schema"],
  declare: (program) =>
    program
      .argument('[glob]', 'show matching tools; a single name shows the whole description')
      .option('--schema', 'show whole descriptions and the JSON Schema of the arguments'),
  run: async ([glob], { json, schema = false, config }, io) => {
    const { cwd, env } = io;
    const loaded = await loadConfig({ cwd, env, ...(config !== undefined && { file: config }) });
    await noteTrust(loaded.config, { json, config }, io);
    const coordinator = await createFullCoordinator(loaded.config, env);
    await coordinator.discover(glob);
    const servers = mcpHealth(coordinator).filter(({ status }) => status !== 'idle');
    const tools = coordinator.tools(glob);
    const isShown = picomatch(glob ?? '*', { dot: true });
    const withheld = withheldTools(coordinator).filter(({ name }) => isShown(name));
    const hints = serverHints(coordinator);
    const all = namesOf(coordinator.tools());
    const close = tools.length > 0 ? undefined : nearest(glob ?? '', all);
    const idle = loaded.config.tools.allow.filter((pattern) => coordinator.tools(pattern).length === 0);
    await coordinator.close();
    // The tools of a server that failed are unknown, so the glob may be right.
    const isAllKnown = servers.every(({ status }) => status === 'ready');
    if (tools.length === 0 && isAllKnown)
      throw (
        untrusted(loaded.config, glob, close) ??
        (all.length > 0 ? noneMatches(glob ?? '*', close) : await noneAllowed(loaded.config, env))
      );
    const isListing = !json && glob === undefined && isAllKnown;
    const missed = isListing && idle.length > 0 ? await missedText(loaded.config, env) : undefined;
    if (json)
      io.stdout.writeJson({
        ok: true,
        tools,
        ...(servers.length > 0 && { mcp_servers: servers.map((server) => withHint(server, hints)) }),
        ...(withheld.length > 0 && { withheld }),
        ...waitingOf(loaded.config),
      });
    else io.stdout.write(toolLines(tools, { isWhole: schema || tools[0]?.name === glob, schema }, io.stdout));
    if (!json) {
      const lines = [
        ...servers.map((server) => serverLine(withHint(server, hints))),
        ...withheldLines(withheld),
      ];
      for (const line of lines) io.stderr.write(`${printableLine(line)}\n`);
    }
    if (missed !== undefined) {
      writeNote(`N${missed.slice(1)}`, io);
    }
    return tools.length === 0 ? EXIT.failed : EXIT.ok;
  },
});

function waitingOf({ trust }: VolleyConfig): object {
  return trust.waiting.length === 0 ? {} : { waiting_for_trust: trustText(trust) };
}

interface ListOptions {
  /** Whether to show all of each description. */
  readonly isWhole: boolean;
  readonly schema: boolean;
}

/** In a pipe, each tool has one line. */
function toolLines(
  tools: readonly ToolDescription[],
  { isWhole, schema }: ListOptions,
  { isTTY, columns }: Pick<Io['stdout'], 'isTTY' | 'columns'>,
): string {
  const room = isTTY ? columns || DEFAULT_COLUMNS : Number.POSITIVE_INFINITY;
  const names = tools.map(({ name }) => printableLine(name));
  const width = Math.max(0, ...names.map(textWidth));
  const isBeside = room - width - 2 >= MIN_DESCRIPTION_WIDTH;
  const texts = tools.map(({ description, inputSchema }, index) => {
    const name = names[index]!;
    const lead = isBeside ? `${padEndToWidth(name, width)}  ` : `${name}\n    `;
    const about = printableLine(isWhole ? description : firstSentence(description));
    const text = lead + wrapHanging(about, room, isBeside ? width + 2 : 4);
    return schema
      ? `${text}\n${printableJson(JSON.stringify(inputSchema, null, 2)).replace(/^/gm, '    ')}`
      : text;
  });
  return texts.map((text) => `${text}\n`).join('');
}

/** "e.g." does not end it. */
function firstSentence(text: string): string {
  return /^.*?(?<!\b\p{L}\.\p{L})[.!?](?=\s|$)/su.exec(text)?.[0] ?? text;
}

function namesOf(tools: readonly ToolDescription[]): string[] {
  return tools.map(({ name }) => name);
}

/** The tool may be in a module that is not loaded. */
function untrusted({ trust }: VolleyConfig, glob: string | undefined, close: string | undefined) {
  return glob === undefined ? undefined : untrustedTool(trust, glob, close === undefined);
}

function noneMatches(glob: string, close: string | undefined): VolleyError {
  return new VolleyError(
    'UNKNOWN_TOOL',
    `No tool matches ${JSON.stringify(glob)}${close === undefined ? '. To list all tools, run: volley tools' : `; did you mean ${close}?`}`,
  );
}

/** No tool may be called, because of the lists in the configuration. */
async function noneAllowed(config: VolleyConfig, env: Io['env']): Promise<VolleyError> {
  const why =
    (await missedText(config, env)) ?? '"allow" and "deny" in [tools] of volley.toml exclude all of them.';
  return new VolleyError('UNKNOWN_TOOL', `No tool is allowed: ${why}`);
}

/** The patterns in "allow" that match no tool. */
async function missedText(config: VolleyConfig, env: Io['env']): Promise<string | undefined> {
  const open = await createFullCoordinator(
    { ...config, tools: { ...config.tools, allow: ['*'], deny: [] } },
    env,
  );
  await open.discover();
  const missed = config.tools.allow.filter((pattern) => open.tools(pattern).length === 0);
  const close = missed.length === 1 ? nearest(missed[0]!, namesOf(open.tools())) : undefined;
  await open.close();
  if (missed.length === 0) return undefined;
  const patterns = listText(missed.map((pattern) => JSON.stringify(pattern)));
  return `no tool matches ${patterns} in "allow" of [tools] in volley.toml${close === undefined ? '.' : `; did you mean ${close}?`}`;
}

type ShownServer = McpServerHealth & { readonly hint?: string };

function withHint(server: McpServerHealth, hints: ReadonlyMap<string, string>): ShownServer {
  const hint = hints.get(server.name);
  return hint === undefined ? server : { ...server, hint };
}

const MAX_WITHHELD = 20;

/** `notes.erase cannot be called: its server marks it as destructive`. */
function withheldLines(withheld: readonly WithheldTool[]): string[] {
  const shown = withheld
    .slice(0, MAX_WITHHELD)
    .map(({ name, reason }) => `${name} cannot be called: ${reason}`);
  const more = withheld.length - shown.length;
  return more === 0
    ? shown
    : [...shown, `${countText(more, 'more tool')} cannot be called; --json names all`];
}

/** `MCP server files: ready, 12 tools`. */
function serverLine({ name, status, tools, problem, needsLogin, hint }: ShownServer): string {
  if (needsLogin === true) return `MCP server ${name}: needs a login. Run: volley mcp login ${name}`;
  const states: Partial<Record<typeof status, string>> = {
    ready: `ready, ${countText(tools, 'tool')}`,
    waiting: 'failed',
  };
  const note = hint === undefined ? '' : `; ${hint}`;
  return `MCP server ${name}: ${states[status] ?? status}${problem === undefined ? '' : `: ${problem}`}${note}`;
}
