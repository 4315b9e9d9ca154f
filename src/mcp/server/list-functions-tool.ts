import { z } from 'zod';
import { linesText, oneLine } from '../../batch/text.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { countText } from '../../core/words.ts';
import type { ToolDescription } from '../../tools/registry.ts';
import { sourceNameOf } from '../../tools/tool-source.ts';
import type { McpServerHealth } from '../client/server-link.ts';
import { defineServedTool, type ToolAnswer } from './tool.ts';

const SHORT_DESCRIPTION = 160;
const MAX_PROBLEM_LENGTH = 500;
const MAX_WITHHELD = 20;

const INPUT = z.strictObject({
  search: z.string().max(200).optional().describe('Words in the name or description.'),
  names: z
    .array(z.string().min(1).max(256))
    .min(1)
    .max(50)
    .optional()
    .describe('Exact names. Returns full descriptions and params schemas.'),
  limit: z.number().int().min(1).max(200).default(50),
  offset: z.number().int().min(0).max(100_000).default(0).describe('Functions to skip.'),
});

const OUTPUT = z.object({
  total: z.number().describe('The number of matches.'),
  functions: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      read_only: z.boolean(),
      idempotent: z.boolean(),
      input_schema: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
  next_offset: z.number().optional(),
  missing_servers: z
    .array(z.object({ name: z.string(), status: z.string(), problem: z.string().optional() }))
    .optional()
    .describe('Connected servers whose functions cannot be listed now.'),
  withheld: z
    .array(z.object({ name: z.string(), reason: z.string() }))
    .optional()
    .describe('Functions that connected servers have, but that cannot be called.'),
  waiting_for_trust: z
    .string()
    .optional()
    .describe('Settings of the folder that need approval by a person, and how to approve them.'),
});

export const listFunctionsTool = defineServedTool({
  name: 'list_batch_functions',
  title: 'Functions that a batch can call',
  description: `Lists the functions that run_batch and batch_executor_tool can call, built-in ones and those of connected servers (named "server.function").

Find functions with "search", then get their params schemas with "names". Schemas are returned only for "names", so that hundreds of functions do not fill your context. Call it before the first batch; there is no need to repeat it.

Examples: {"search": "read file"}, then {"names": ["read_file"]}`,
  input: INPUT,
  output: OUTPUT,
  // It starts the configured servers to list their tools.
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  scope: 'read',
  run: async ({ search, names, limit, offset }, { backend }) => {
    const { tools: all, missing, withheld: refused, waiting } = await backend.functions(names);
    if (names !== undefined) return inFull(all, names, missing, waiting);
    const found = search === undefined ? all : matching(all, search);
    // A search that finds something needs no more.
    const withheld = search === undefined || found.length === 0 ? refused.slice(0, MAX_WITHHELD) : [];
    const page = found.slice(offset, offset + limit);
    const next = offset + limit < found.length ? offset + limit : undefined;
    return {
      text: linesText(
        `${countText(found.length, 'function')}${search === undefined ? '' : ` for ${JSON.stringify(search)}, of ${all.length}`}.`,
        page.map((one) => `- ${one.name}${one.readOnly ? '' : ' (has side effects)'}: ${shortOf(one)}`),
        next === undefined ? undefined : `For more, pass "offset": ${next}.`,
        page.length === 0 ? 'Try other words, or none.' : 'For params, pass "names".',
        missing.map(missingLine),
        withheld.map(({ name, reason }) => `${name} cannot be called: ${oneLine(reason, SHORT_DESCRIPTION)}`),
        waiting === undefined ? undefined : waitingLine(waiting),
      ),
      data: {
        total: found.length,
        functions: page.map((one) => ({ ...rowOf(one), description: shortOf(one) })),
        ...(next !== undefined && { next_offset: next }),
        ...(missing.length > 0 && { missing_servers: missing.map(missingRow) }),
        ...(withheld.length > 0 && { withheld: withheld }),
        ...(waiting !== undefined && { waiting_for_trust: waitingLine(waiting) }),
      },
    };
  },
});

function inFull(
  all: readonly ToolDescription[],
  names: readonly string[],
  missing: readonly McpServerHealth[],
  waiting: string | undefined,
): ToolAnswer {
  const byName = new Map(all.map((one) => [one.name, one]));
  const found = names.map((name) => {
    const one = byName.get(name);
    if (one !== undefined) return one;
    const server = missing.find((candidate) => candidate.name === sourceNameOf(name));
    if (server !== undefined) throw new VolleyError('MCP_SERVER_FAILED', missingLine(server), { name });
    const close = nearest(name, [...byName.keys()]);
    if (close === undefined && waiting !== undefined)
      throw new VolleyError(
        'NOT_TRUSTED',
        `There is no function ${JSON.stringify(name)} yet: ${waitingLine(waiting)}`,
      );
    throw new VolleyError(
      'UNKNOWN_TOOL',
      `There is no function ${JSON.stringify(name)}${close === undefined ? '. Use "search".' : `. Did you mean ${close}?`}`,
      { nearest: close },
    );
  });
  const functions = found.map((one) => ({
    ...rowOf(one),
    description: one.description,
    input_schema: one.inputSchema as Record<string, unknown>,
  }));
  return {
    text: functions
      .map((one) => `${one.name}: ${one.description}\nparams: ${JSON.stringify(one.input_schema)}`)
      .join('\n\n'),
    data: { total: functions.length, functions },
  };
}

/** Finds functions with all words. Matches in the name come first. */
function matching(all: readonly ToolDescription[], search: string): ToolDescription[] {
  const words = search
    .toLowerCase()
    .split(/[\s_.-]+/)
    .filter((word) => word !== '');
  const scored = all.flatMap((one) => {
    const name = one.name.toLowerCase();
    const text = `${name} ${one.description.toLowerCase()}`;
    if (!words.every((word) => text.includes(word))) return [];
    return [{ one, score: words.filter((word) => name.includes(word)).length }];
  });
  return scored.sort((a, b) => b.score - a.score).map(({ one }) => one);
}

/** Tells the model to try again, or to do without the server. */
function missingLine({ name, status, problem }: McpServerHealth): string {
  if (status === 'starting') return `The functions of ${name} are not known yet: it is starting. Try again.`;
  const why = problem === undefined ? status : oneLine(problem, MAX_PROBLEM_LENGTH);
  return `The functions of ${name} are not known: ${why}`;
}

/** The server reads the configuration only once. */
function waitingLine(waiting: string): string {
  return `${waiting} (then restart this server)`;
}

function missingRow({ name, status, problem }: McpServerHealth) {
  return { name, status, ...(problem !== undefined && { problem: oneLine(problem, MAX_PROBLEM_LENGTH) }) };
}

function rowOf({ name, readOnly, idempotent }: ToolDescription) {
  return { name, read_only: readOnly, idempotent };
}

function shortOf({ description }: ToolDescription): string {
  return oneLine(description, SHORT_DESCRIPTION);
}
