import { z } from 'zod';

const CONVERTED = new WeakMap<z.ZodType, Record<string, unknown>>();

/** A schema as clients are told it. Converted once: over HTTP every request has a server of its own. */
export function jsonSchemaOf(schema: z.ZodType): Record<string, unknown> {
  let json = CONVERTED.get(schema);
  if (json === undefined) {
    json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Record<string, unknown>;
    CONVERTED.set(schema, json);
  }
  return json;
}
