import { VolleyError } from '../../core/errors.ts';
import { show } from '../../core/numbers.ts';
import type { ToolDescription } from '../../tools/registry.ts';

/** What a provider must know of a tool. */
export type ListedTool = Pick<ToolDescription, 'name' | 'description' | 'inputSchema'>;

/** A schema whose outermost type is said to be an object. */
export type ObjectSchema = { [keyword: string]: unknown } & { type: 'object' };

/** All providers pass arguments as an object and want the schema to say so. */
export function objectSchema({ name, inputSchema }: ListedTool): ObjectSchema {
  if (typeof inputSchema !== 'object' || inputSchema === null) {
    throw new VolleyError(
      'INVALID_TOOL',
      `Tool ${name}: its inputSchema must be a JSON Schema, but it is ${show(inputSchema)}. Give the list that coordinator.tools() gives.`,
      { tool: name },
    );
  }
  const { type } = inputSchema;
  const isObject =
    type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
  if (isObject) return { ...inputSchema, type: 'object' };
  throw new VolleyError(
    'INVALID_TOOL',
    `Tool ${name}: its input is of type ${show(type)}, but models can pass an object only. Wrap it in one, or do not list the tool.`,
    { tool: name },
  );
}
