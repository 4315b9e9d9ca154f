import { createHash } from 'node:crypto';
import type { Tool } from '../tools/tool.ts';

/** A hash of what callers see of a tool: workers and coordinator must agree on it. */
export function toolHash({ name, input, output }: Tool): string {
  const parts = [name, input.jsonSchema ?? null, output?.jsonSchema ?? null];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}
