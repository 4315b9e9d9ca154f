import type { AssembledSettings } from './assemble.ts';
import { rootFindings } from './roots.ts';
import { DEFAULTS, SECTIONS, type Settings } from './schema.ts';
import { parseSource, readSource } from './source.ts';
import { sectionSchema } from './zod-schema.ts';

/**
 * The settings of a file with which nothing is wrong, looked at section by section: only those that it has are loaded,
 * and commands that only look at something start sooner. Undefined where something is wrong and has to be told.
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
    // Once: code that is generated to check faster would take longer than the check itself.
    const checked = section.safeParse(table, { jitless: true });
    if (!checked.success) return undefined;
    settings[name] = checked.data;
  }
  return { settings: settings as unknown as Settings, said: parsed.data, overrides: [], bytes };
}
