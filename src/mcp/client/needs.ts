import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import type { McpServerSettings } from '../../config/config.ts';
import type { ResourceRequirements } from '../../core/demand.ts';
import { NO_NEEDS } from '../../core/resource-table.ts';
import type { ResourceNeeds } from '../../tools/tool.ts';

/** More values than these are not told apart: such a call has the server to itself. */
const MAX_VALUES = 32;
/** Longer values are told apart by a digest. */
const LONGEST_NAME = 256;

/**
 * What calls of a tool need. Many servers lose writes that come at once, though each call reports success, so only what
 * says that it reads runs next to others, unless the configuration says more. Whoever runs next to others holds the
 * lock of the server as shared, whoever needs it alone holds it exclusively.
 */
export function needsOfTool(
  lockName: string,
  toolName: string,
  readsOnly: boolean,
  { connection, parallel, tools }: McpServerSettings,
): ResourceNeeds<unknown> {
  const own = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
  const mayShare = own?.parallel ?? (parallel === 'all' || (parallel === 'read-only' && readsOnly));
  const amounts: ResourceRequirements =
    connection.kind === 'http' ? { ...NO_NEEDS, network: true } : { ...NO_NEEDS, io: 'low' };
  const alone = { ...amounts, exclusive: [lockName] };
  const shared = { ...amounts, shared: [lockName] };
  const { lock } = own ?? {};
  if (lock === undefined) return mayShare ? shared : alone;
  const folder = connection.kind === 'stdio' ? connection.cwd : '/';
  return (input) => {
    const values = valuesOf(input, lock, folder);
    if (values === undefined) return mayShare ? shared : alone;
    const names = values.map((value) => `${lockName} ${lock}=${value}`);
    return mayShare && readsOnly
      ? { ...amounts, shared: [lockName, ...names] }
      : { ...amounts, shared: [lockName], exclusive: names };
  };
}

/** What tells calls apart, in one form: `a.txt` and `./a.txt` are the same file. Undefined where nothing does. */
function valuesOf(input: unknown, argument: string, folder: string): string[] | undefined {
  const given = (input as Record<string, unknown> | null)?.[argument];
  const values = Array.isArray(given) ? given : [given];
  const isTold = values.length > 0 && values.length <= MAX_VALUES;
  if (!isTold || values.some((value) => value === undefined || value === null)) return undefined;
  return [...new Set(values.map((value) => nameOf(value, folder)))];
}

function nameOf(value: unknown, folder: string): string {
  const name = typeof value === 'string' ? resolve(folder, value) : JSON.stringify(value);
  return name.length <= LONGEST_NAME ? name : createHash('sha256').update(name).digest('hex');
}
