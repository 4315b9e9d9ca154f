import { type SchemaNode, schemaOutline } from './outline.ts';

/** The JSON Schema of `volley.toml` for editors: the same on every machine. */
export function configJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = withoutOurOwn(schemaOutline());
  return { $schema, title: 'volley.toml', description: 'The configuration of Volley.', ...rest };
}

/** Leaves out what only our documentation knows, and defaults that depend on the machine or say nothing. */
function withoutOurOwn(node: SchemaNode): Record<string, unknown> {
  const { defaultText, default: value, ...rest } = node;
  const says = value !== undefined && defaultText === undefined && node.type !== 'object';
  const shown = says ? { ...rest, default: value } : rest;
  return Object.fromEntries(
    Object.entries(shown).map(([keyword, part]) => {
      if (keyword === 'properties') {
        const parts = Object.entries(part as Record<string, SchemaNode>);
        return [keyword, Object.fromEntries(parts.map(([name, child]) => [name, withoutOurOwn(child)]))];
      }
      const isNode =
        typeof part === 'object' && part !== null && !Array.isArray(part) && keyword !== 'default';
      return [keyword, isNode ? withoutOurOwn(part as SchemaNode) : part];
    }),
  );
}
