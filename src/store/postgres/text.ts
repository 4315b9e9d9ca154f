import { type StoredText, toStored } from '../rows.ts';

/** Begins strings that PostgreSQL could not store as they are, and those that begin with it anyway. */
const MARK = '\u0001';

/**
 * A string as a parameter. PostgreSQL stores no NUL and no unpaired surrogate: a string with one is stored as the hex
 * digits of its UTF-16 code units. Each string has exactly one form, so that it can be looked up.
 */
export function toText(text: string): string {
  const stored = toStored(text);
  if (typeof stored === 'string' && !stored.startsWith(MARK)) return stored;
  return MARK + Buffer.from(text, 'utf16le').toString('hex');
}

export function toTextOrNull(text: string | undefined): string | null {
  return text === undefined ? null : toText(text);
}

/** What a column contains, in the form that all stores share. */
export function asStored(text: string): StoredText {
  return text.startsWith(MARK) ? Buffer.from(text.slice(1), 'hex') : text;
}
