import { createRoute, z } from '@hono/zod-openapi';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { discoveredTools } from '../../mcp/open-coordinator.ts';
import type { ToolDescription } from '../../tools/registry.ts';
import { problemBody, problemHeaders } from '../http/problem.ts';
import { MCP_SERVER, mcpServerBody } from '../wire/statistics.ts';
import { type Api, answers, REFUSALS, secured } from './api.ts';
import type { ServerParts } from './parts.ts';

const TOOL = z
  .object({
    name: z.string(),
    description: z.string(),
    read_only: z.boolean(),
    idempotent: z.boolean(),
    input_schema: z.record(z.string(), z.unknown()).describe('JSON Schema of its arguments.'),
    output_schema: z.record(z.string(), z.unknown()).optional(),
  })
  .openapi('Tool');

const TOOL_PATH = z.object({
  name: z
    .string()
    .max(128)
    .openapi({ param: { name: 'name', in: 'path' } }),
});

/** Routes that list tools. */
export function toolRoutes(api: Api, { coordinator }: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'listTools',
      method: 'get',
      path: '/v1/tools',
      tags: ['tools'],
      summary: 'Lists tools; starts MCP servers and waits up to five seconds for them',
      request: {
        query: z.object({
          search: z.string().max(200).optional().describe('Part of the name or description.'),
        }),
      },
      responses: {
        200: answers(
          z.object({
            tools: z.array(TOOL),
            missing_servers: z.array(MCP_SERVER).describe('MCP servers that have not listed their tools.'),
            withheld_tools: z
              .array(z.object({ name: z.string(), reason: z.string() }))
              .describe('Tools that MCP servers have, but that cannot be called.'),
            waiting_for_trust: z
              .string()
              .optional()
              .describe('Settings of the folder that need approval by a person, and how to approve them.'),
          }),
          'The tools.',
        ),
        ...REFUSALS,
      },
    }),
    async (context) => {
      const part = context.req.valid('query').search?.toLowerCase() ?? '';
      const { tools, missing, withheld, waiting } = await discoveredTools(coordinator);
      const found = tools.filter(({ name, description }) =>
        `${name}\n${description}`.toLowerCase().includes(part),
      );
      const waitingPart = waiting === undefined ? {} : { waiting_for_trust: waiting };
      return context.json(
        {
          tools: found.map(bodyOf),
          missing_servers: missing.map(mcpServerBody),
          withheld_tools: [...withheld],
          ...waitingPart,
        },
        200,
      );
    },
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getTool',
      method: 'get',
      path: '/v1/tools/{name}',
      tags: ['tools'],
      summary: 'Returns one tool with its schemas',
      request: { params: TOOL_PATH },
      responses: { 200: answers(TOOL, 'The tool.'), ...REFUSALS },
    }),
    async (context) => {
      const { name } = context.req.valid('param');
      const { tools: all } = await discoveredTools(coordinator, [name]);
      const tool = all.find((one) => one.name === name);
      if (tool !== undefined) return context.json(bodyOf(tool), 200);
      const close = nearest(
        name,
        all.map((one) => one.name),
      );
      const hint = close === undefined ? '' : `; did you mean ${close}?`;
      const error = new VolleyError('UNKNOWN_TOOL', `There is no tool ${JSON.stringify(name)}${hint}.`, {
        nearest: close,
      });
      const problem = problemBody(error, 404);
      return context.body(JSON.stringify(problem), 404, problemHeaders(problem)) as never;
    },
  );
}

function bodyOf({ name, description, readOnly, idempotent, inputSchema, outputSchema }: ToolDescription) {
  return {
    name,
    description,
    read_only: readOnly,
    idempotent,
    input_schema: inputSchema as Record<string, unknown>,
    ...(outputSchema !== undefined && { output_schema: outputSchema as Record<string, unknown> }),
  };
}
