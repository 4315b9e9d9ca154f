import { Lexer, Parser } from 'yaml';

/**
 * Where lists and maps of a YAML text begin to be nested deeper than that, if they do. To be asked before the text is read: the reader
 * works by recursion, and may take the whole process with it when the stack is full.
 */
export function tooDeepAt(text: string, most: number): number | undefined {
  if (!mayBeDeep(text, most)) return undefined;
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    for (const _ of parser.next(lexeme));
    // The document itself, and a text that is being read, stand there as well.
    if (parser.stack.length > most + 2) return parser.offset;
  }
  return undefined;
}

/** Hardly any text has the columns or the brackets for it, so hardly any has to be taken apart to know. */
function mayBeDeep(text: string, most: number): boolean {
  if (new RegExp(`^[ \\t?-]{${Math.floor(most / 2)}}`, 'm').test(text)) return true;
  let depth = 0;
  for (const { 0: sign } of text.matchAll(/[[\]{}]/g)) {
    depth = Math.max(0, depth + (sign === '[' || sign === '{' ? 1 : -1));
    if (depth > most) return true;
  }
  return false;
}
