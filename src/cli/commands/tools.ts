import type { VolleyConfig } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { trustText, untrustedTool } from '../../config/trust.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { printableJson, printableLine } from '../../core/printable-text.ts';
import { countText, listText } from '../../core/words.ts';
import { mcpHealth } from '../../mcp/client/attach.ts';
import type { McpServerHealth } from '../../mcp/client/server-link.ts';
import { createFullCoordinator } from '../../mcp/open-coordinator.ts';
import type { ToolDescription } from '../../tools/registry.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { EXIT, type Io } from '../io.ts';
import { createColours, wantsColours } from '../output/colours.ts';
import { noteTrust } from '../output/trust-note.ts';
import { padEndToWidth, textWidth } from '../output/width.ts';
import { wrapHanging } from '../output/wrap.ts';

interface ToolsOptions extends CommonOptions {
  readonly schema?: boolean;
}

const DEFAULT_COLUMNS = 80;
/** With less room beside the names, descriptions stand below them. */
const NARROWEST = 30;

export const toolsCommand = defineCommand<ToolsOptions>({
  examples: ['volley tools', 'volley tools read_file', "volley tools 'read_*' --schema"],
  declare: (program) =>
    program
      .argument('[glob]', 'only names that match; of one name, the whole description')
      .option('--schema', 'the whole descriptions, and what each takes as JSON Schema'),
  run: async ([glob], { json, schema = false, config }, io) => {
    const { cwd, env } = io;
    const loaded = await loadConfig({ cwd, env, ...(config !== undefined && { file: config }) });
    noteTrust(loaded.config, { json, config }, io);
    const coordinator = await createFullCoordinator(loaded.config, env);
    await coordinator.discover(glob);
    const servers = mcpHealth(coordinator).filter(({ status }) => status !== 'idle');
    const tools = coordinator.tools(glob);
    const all = namesOf(coordinator.tools());
    const close = tools.length > 0 ? undefined : nearest(glob ?? '', all);
    const idle = loaded.config.tools.allow.filter((pattern) => coordinator.tools(pattern).length === 0);
    await coordinator.close();
    // What a server that failed has is unknown: nobody is to blame for not matching that.
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
        ...(servers.length > 0 && { mcp_servers: servers }),
        ...waitingOf(loaded.config),
      });
    else io.stdout.write(toolLines(tools, { isWhole: schema || tools[0]?.name === glob, schema }, io.stdout));
    if (!json) for (const server of servers) io.stderr.write(`${printableLine(serverLine(server))}\n`);
    if (missed !== undefined) {
      const { yellow } = createColours(wantsColours(io.stderr, env));
      io.stderr.writeStyled(`${yellow('note')} N${missed.slice(1)}\n`);
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

/** What is not for a terminal has a line for each tool. */
function toolLines(
  tools: readonly ToolDescription[],
  { isWhole, schema }: ListOptions,
  { isTTY, columns }: Pick<Io['stdout'], 'isTTY' | 'columns'>,
): string {
  const room = isTTY ? columns || DEFAULT_COLUMNS : Number.POSITIVE_INFINITY;
  const names = tools.map(({ name }) => printableLine(name));
  const width = Math.max(0, ...names.map(textWidth));
  const isBeside = room - width - 2 >= NARROWEST;
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

/** "e.g." ends none. */
function firstSentence(text: string): string {
  return /^.*?(?<!\b\p{L}\.\p{L})[.!?](?=\s|$)/su.exec(text)?.[0] ?? text;
}

function namesOf(tools: readonly ToolDescription[]): string[] {
  return tools.map(({ name }) => name);
}

/** It may be one of a module that is not loaded. */
function untrusted({ trust }: VolleyConfig, glob: string | undefined, close: string | undefined) {
  return glob === undefined ? undefined : untrustedTool(trust, glob, close === undefined);
}

function noneMatches(glob: string, close: string | undefined): VolleyError {
  return new VolleyError(
    'UNKNOWN_TOOL',
    `No tool matches ${JSON.stringify(glob)}${close === undefined ? ': volley tools lists all.' : `; did you mean ${close}?`}`,
  );
}

/** Nothing at all may be called: the list that should let something through is at fault. */
async function noneAllowed(config: VolleyConfig, env: Io['env']): Promise<VolleyError> {
  const why = (await missedText(config, env)) ?? 'allow and deny of [tools] in volley.toml exclude them all.';
  return new VolleyError('UNKNOWN_TOOL', `No tool may be called: ${why}`);
}

/** Patterns of the list of what may be called that match nothing there is, whatever else excludes it. */
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
  return `no tool matches ${patterns}, from allow of [tools] in volley.toml${close === undefined ? '.' : `; did you mean ${close}?`}`;
}

/** `MCP server files: ready, 12 tools`. On the error stream, beside the list. Nobody here waits for another try. */
function serverLine({ name, status, tools, problem }: McpServerHealth): string {
  const states: Partial<Record<typeof status, string>> = {
    ready: `ready, ${countText(tools, 'tool')}`,
    waiting: 'failed',
  };
  return `MCP server ${name}: ${states[status] ?? status}${problem === undefined ? '' : `: ${problem}`}`;
}
