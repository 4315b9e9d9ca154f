/** Quotes a word for a shell, only if necessary. */
export function shellQuote(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word) && !word.startsWith('-')) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}
