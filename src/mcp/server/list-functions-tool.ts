import { z } from 'zod';
import { linesText, oneLine } from '../../batch/text.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { countText } from '../../core/words.ts';
import type { ToolDescription, WithheldTool } from '../../tools/registry.ts';
import { signatureOf } from '../../tools/signature.ts';
import { sourceNameOf } from '../../tools/tool-source.ts';
import type { McpServerHealth } from '../client/server-link.ts';
import type { DiscoveredTools } from '../open-coordinator.ts';
import { rankBySearch } from './function-search.ts';
import { defineServedTool, type ToolAnswer } from './tool.ts';

const SHORT_DESCRIPTION = 160;
const MAX_PROBLEM_LENGTH = 500;
/** How many withheld functions an answer names. */
const MAX_WITHHELD = 20;
/** With no more functions than these, all names are shown if a search finds none. */
const MAX_NAMES = 50;

/** What every function of a connected server returns. */
const SERVER_RESULT = '{text?: string, data?: unknown}';

const INPUT = z.strictObject({
  search: z.string().max(200).optional().describe('What it should do, in words.'),
  names: z.array(z.string().min(1).max(256)).min(1).max(50).optional().describe('Exact names, with docs.'),
  json_schema: z.boolean().default(false).describe('Schemas, too.'),
  limit: z.number().int().min(1).max(200).default(20),
  offset: z.number().int().min(0).max(100_000).default(0),
});

const OUTPUT = z.object({
  total: z.number().describe('The number of matches.'),
  functions: z.array(
    z.object({
      name: z.string(),
      signature: z.string().describe('In TypeScript. Its argument is the params of a task.'),
      description: z.string(),
      read_only: z.boolean(),
      idempotent: z.boolean(),
      input_schema: z.record(z.string(), z.unknown()).optional(),
      output_schema: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
  next_offset: z.number().optional(),
  withheld: z
    .array(z.object({ name: z.string(), reason: z.string() }))
    .optional()
    .describe('Functions that exist but may not be called.'),
  missing_servers: z
    .array(z.object({ name: z.string(), status: z.string(), problem: z.string().optional() }))
    .optional()
    .describe('Connected servers whose functions cannot be listed now.'),
  waiting_for_trust: z
    .string()
    .optional()
    .describe('Settings of the folder that need approval by a person, and how to approve them.'),
  hints: z.array(z.string()).optional(),
});

export const listFunctionsTool = defineServedTool({
  name: 'list_batch_functions',
  title: 'Functions for programs and batches',
  description:
    'Finds functions for programs and batches, also of connected servers ("server.function"): TypeScript signatures, best match first.',
  input: INPUT,
  output: OUTPUT,
  // It starts the configured servers to list their tools.
  rare: ['json_schema', 'offset'],
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  scope: 'read',
  run: async ({ search, names, json_schema: withSchema, limit, offset }, { backend }) => {
    const found = await backend.functions(names);
    return names === undefined
      ? listed(found, search, { withSchema, limit, offset })
      : documented(found, names, withSchema);
  },
});

interface Page {
  readonly withSchema: boolean;
  readonly limit: number;
  readonly offset: number;
}

function listed(
  found: DiscoveredTools,
  search: string | undefined,
  { withSchema, limit, offset }: Page,
): ToolAnswer {
  const { tools: all, servers, missing, waiting } = found;
  const both: readonly (ToolDescription | WithheldTool)[] = [...all, ...found.withheld];
  const ranked = search === undefined ? both : rankBySearch(both, search);
  const matches = ranked.filter((one) => 'inputSchema' in one);
  const withheld = ranked.filter((one) => 'reason' in one).slice(0, MAX_WITHHELD);
  const rows = matches.slice(offset, offset + limit).map((one) => ({
    ...rowOf(one, servers, withSchema),
    description: oneLine(one.description, SHORT_DESCRIPTION),
  }));
  const next = offset + limit < matches.length ? offset + limit : undefined;
  const hints = [
    ...(next === undefined ? [] : [`For more, pass "offset": ${next}.`]),
    ...(rows.length > 0 ? [] : [noMatchText(all)]),
  ];
  return {
    text: linesText(
      `${countText(matches.length, 'function')}${search === undefined ? '' : ` for ${JSON.stringify(search)}, of ${all.length}`}.`,
      rows.map(rowText),
      hints,
      withheld.map(({ name, reason }) => `Withheld: ${name}: ${oneLine(reason, MAX_PROBLEM_LENGTH)}`),
      missing.map(missingLine),
      waiting === undefined ? undefined : waitingLine(waiting),
    ),
    data: {
      total: matches.length,
      functions: rows,
      ...(next !== undefined && { next_offset: next }),
      ...(withheld.length > 0 && { withheld }),
      ...(missing.length > 0 && { missing_servers: missing.map(missingRow) }),
      ...(waiting !== undefined && { waiting_for_trust: waitingLine(waiting) }),
      ...(hints.length > 0 && { hints }),
    },
  };
}

function documented(
  { tools: all, servers, withheld, missing, waiting }: DiscoveredTools,
  names: readonly string[],
  withSchema: boolean,
): ToolAnswer {
  const byName = new Map(all.map((one) => [one.name, one]));
  const rows = names.map((name) => {
    const one = byName.get(name);
    if (one === undefined) throw unknownFunction(name, [...byName.keys()], withheld, missing, waiting);
    return { ...rowOf(one, servers, withSchema, true), description: one.description };
  });
  return { text: rows.map(rowText).join('\n\n'), data: { total: rows.length, functions: rows } };
}

type Row = ReturnType<typeof rowOf> & { readonly description: string };

function rowOf(one: ToolDescription, servers: ReadonlySet<string>, withSchema: boolean, docs = false) {
  const { name, readOnly, idempotent, inputSchema, outputSchema } = one;
  const isOfServer = servers.has(sourceNameOf(name));
  return {
    name,
    signature: signatureOf(one, { docs, ...(isOfServer && { returns: SERVER_RESULT }) }),
    read_only: readOnly,
    idempotent,
    ...(withSchema && { input_schema: inputSchema as Record<string, unknown> }),
    ...(withSchema &&
      outputSchema !== undefined && { output_schema: outputSchema as Record<string, unknown> }),
  };
}

function rowText({ signature, description, read_only: readOnly, input_schema: schema }: Row): string {
  return linesText(
    `${signature}${readOnly ? '' : ' // has side effects'}`,
    `  ${description}`,
    schema === undefined ? undefined : `  params: ${JSON.stringify(schema)}`,
  );
}

function noMatchText(all: readonly ToolDescription[]): string {
  if (all.length > MAX_NAMES) return 'Try other words, or none.';
  return `Try other words, or none. There are ${all.map(({ name }) => name).join(', ')}.`;
}

function unknownFunction(
  name: string,
  known: readonly string[],
  withheld: readonly WithheldTool[],
  missing: readonly McpServerHealth[],
  waiting: string | undefined,
): VolleyError {
  const server = missing.find((candidate) => candidate.name === sourceNameOf(name));
  if (server !== undefined) return new VolleyError('MCP_SERVER_FAILED', missingLine(server), { name });
  const reason = withheld.find((one) => one.name === name)?.reason;
  if (reason !== undefined)
    return new VolleyError('TOOL_NOT_ALLOWED', `The tool ${name} may not be called: ${reason}.`, { name });
  const close = nearest(name, known);
  if (close === undefined && waiting !== undefined)
    return new VolleyError(
      'NOT_TRUSTED',
      `There is no function ${JSON.stringify(name)} yet: ${waitingLine(waiting)}`,
    );
  return new VolleyError(
    'UNKNOWN_TOOL',
    `There is no function ${JSON.stringify(name)}${close === undefined ? '. Use "search".' : `. Did you mean ${close}?`}`,
    { nearest: close },
  );
}

/** Advises the model to try again, or to do without the server. */
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
