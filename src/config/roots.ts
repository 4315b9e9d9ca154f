import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Finding } from './check.ts';
import type { TomlTable } from './environment.ts';
import { pathText, valueText } from './toml-text.ts';

/** A root that is not there would otherwise refuse every file, but only when the first tool is called. */
export async function rootFindings({ tools }: TomlTable, folder: string): Promise<Finding[]> {
  const roots = (tools as { roots?: unknown } | undefined)?.roots;
  if (!Array.isArray(roots)) return [];
  const findings = await Promise.all(roots.map((root, index) => rootFinding(root, index, folder)));
  return findings.filter((finding) => finding !== undefined);
}

async function rootFinding(root: unknown, index: number, folder: string): Promise<Finding | undefined> {
  // Anything else is refused by the schema.
  if (typeof root !== 'string' || root === '') return undefined;
  const absolute = resolve(folder, root);
  const found = await stat(absolute).catch(() => undefined);
  if (found?.isDirectory()) return undefined;
  const path = ['tools', 'roots', index];
  const what = found === undefined ? 'does not exist' : 'is not a folder';
  const text = `${pathText(path)} must be a folder, but it is ${valueText(root)}, and ${absolute} ${what}.`;
  return { path, part: 'value', text };
}
