import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);

/** The parser of YAML, loaded with the first YAML text: it has many files. */
export function loadYaml(): typeof import('yaml') {
  return load('yaml') as typeof import('yaml');
}

/**
 * The offset at which a YAML text is nested deeper than `max` levels, if it is. Check this before parsing: the parser is
 * recursive, and a stack overflow can crash the process.
 */
export function tooDeepAt(text: string, max: number): number | undefined {
  if (!mayBeDeep(text, max)) return undefined;
  const { Lexer, Parser } = loadYaml();
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    for (const _ of parser.next(lexeme));
    // The stack also holds the document and the current scalar.
    if (parser.stack.length > max + 2) return parser.offset;
  }
  return undefined;
}

/** A cheap test: few texts have the indentation or the brackets for deep nesting. */
function mayBeDeep(text: string, max: number): boolean {
  if (new RegExp(`^[ \\t?-]{${Math.floor(max / 2)}}`, 'm').test(text)) return true;
  let depth = 0;
  for (const { 0: sign } of text.matchAll(/[[\]{}]/g)) {
    depth = Math.max(0, depth + (sign === '[' || sign === '{' ? 1 : -1));
    if (depth > max) return true;
  }
  return false;
}
