import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { nearest } from '../core/nearest.ts';
import { listText } from '../core/words.ts';
import type { AssembledSettings } from './assemble.ts';
import type { Finding } from './check.ts';
import type { TomlTable } from './environment.ts';
import { DEFAULTS, SECTIONS, type Settings } from './schema.ts';
import { parseSource, readSource } from './source.ts';
import { keyText, valueText } from './toml-text.ts';
import { sectionSchema } from './zod-schema.ts';

/**
 * The settings of a valid file, validated section by section: only the sections in the file are loaded, so that
 * read-only commands start sooner. Undefined if there is a problem to report.
 */
export async function settingsOfValidFile(
  file: string,
  folder: string,
): Promise<AssembledSettings | undefined> {
  const { bytes, text } = await readSource(file);
  const parsed = parseSource(text);
  if (!('data' in parsed) || (await rootFindings(parsed.data, folder)).length > 0) return undefined;
  const settings: Record<string, unknown> = { ...DEFAULTS };
  for (const [name, table] of Object.entries(parsed.data)) {
    if (!Object.hasOwn(SECTIONS, name)) return undefined;
    const section = sectionSchema(name as keyof Settings);
    // Validated once: generating faster validation code would take longer than the validation.
    const checked = section.safeParse(table, { jitless: true });
    if (!checked.success) return undefined;
    settings[name] = checked.data;
  }
  if (undeclaredResources(settings as unknown as Settings).length > 0) return undefined;
  return { settings: settings as unknown as Settings, said: parsed.data, overrides: [], bytes };
}

/** A missing root would otherwise reject every file, but only when the first tool is called. */
export async function rootFindings({ tools }: TomlTable, folder: string): Promise<Finding[]> {
  const roots = (tools as { roots?: unknown } | undefined)?.roots;
  if (!Array.isArray(roots)) return [];
  const findings = await Promise.all(roots.map((root, index) => rootFinding(root, index, folder)));
  return findings.filter((finding) => finding !== undefined);
}

async function rootFinding(root: unknown, index: number, folder: string): Promise<Finding | undefined> {
  // The schema rejects anything else.
  if (typeof root !== 'string' || root === '') return undefined;
  const absolute = resolve(folder, root);
  const found = await stat(absolute).catch(() => undefined);
  if (found?.isDirectory()) return undefined;
  const path = ['tools', 'roots', index];
  const what = found === undefined ? 'does not exist' : 'is not a folder';
  const text = `${keyText(path)} must be a folder, but it is ${valueText(root)}, and ${absolute} ${what}.`;
  return { path, part: 'value', text };
}

/** How many declared resources a problem lists. */
const MAX_RESOURCES = 12;

/** Resources that tools of MCP servers need and that are declared nowhere. */
export function undeclaredResources({ limits, mcp }: Settings): Finding[] {
  const known = Object.keys(limits.resources ?? {});
  return Object.entries(mcp.servers).flatMap(([server, { tools }]) =>
    Object.entries(tools).flatMap(([tool, { resources = {} }]) =>
      Object.keys(resources)
        .filter((name) => !known.includes(name))
        .map((name): Finding => {
          const path = ['mcp', 'servers', server, 'tools', tool, 'resources', name];
          const near = nearest(name, known);
          const hint =
            near !== undefined
              ? `Did you mean ${near}?`
              : `Declare it in [limits.resources]${known.length === 0 ? '' : `, which has ${listText(known.slice(0, MAX_RESOURCES), known.length)}`}.`;
          return { path, part: 'key', text: `unknown resource ${keyText(path)}. ${hint}` };
        }),
    ),
  );
}
