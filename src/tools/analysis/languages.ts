import { extname } from 'node:path';
import type { Grammar } from './grammar.ts';
import { JAVASCRIPT, TSX, TYPESCRIPT } from './javascript.ts';
import { PYTHON } from './python.ts';

const BY_EXTENSION = new Map<string, Grammar>([
  ['.js', JAVASCRIPT],
  ['.mjs', JAVASCRIPT],
  ['.cjs', JAVASCRIPT],
  ['.jsx', JAVASCRIPT],
  ['.ts', TYPESCRIPT],
  ['.mts', TYPESCRIPT],
  ['.cts', TYPESCRIPT],
  ['.tsx', TSX],
  ['.py', PYTHON],
  ['.pyi', PYTHON],
  ['.pyw', PYTHON],
]);

/** The extensions that {@link grammarOf} knows. */
export const KNOWN_EXTENSIONS: readonly string[] = [...BY_EXTENSION.keys()];

/** How a file of this name is read; undefined for a language that is not known. */
export function grammarOf(path: string): Grammar | undefined {
  return BY_EXTENSION.get(extname(path).toLowerCase());
}
