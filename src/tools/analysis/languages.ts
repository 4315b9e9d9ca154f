import { extname } from 'node:path';
import type { Grammar } from './grammar.ts';

const javascript = async () => (await import('./javascript.ts')).JAVASCRIPT;
const typescript = async () => (await import('./javascript.ts')).TYPESCRIPT;
const tsx = async () => (await import('./javascript.ts')).TSX;
const python = async () => (await import('./python.ts')).PYTHON;

/** The parsers are loaded for the first file that needs one. */
const BY_EXTENSION = new Map<string, () => Promise<Grammar>>([
  ['.js', javascript],
  ['.mjs', javascript],
  ['.cjs', javascript],
  ['.jsx', javascript],
  ['.ts', typescript],
  ['.mts', typescript],
  ['.cts', typescript],
  ['.tsx', tsx],
  ['.py', python],
  ['.pyi', python],
  ['.pyw', python],
]);

/** The extensions that {@link loadGrammar} knows. */
export const KNOWN_EXTENSIONS: readonly string[] = [...BY_EXTENSION.keys()];

/** How a file of this name is read; undefined for a language that is not known. */
export async function loadGrammar(path: string): Promise<Grammar | undefined> {
  return BY_EXTENSION.get(extname(path).toLowerCase())?.();
}
