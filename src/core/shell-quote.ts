/** A word as it is typed into a shell: as it stands where that is safe, else in single quotes. */
export function shellQuote(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word) && !word.startsWith('-')) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}
