/** What SQLite would cut (at a NUL) or alter (half of a surrogate pair is no Unicode text). */
const FRAGILE = /[\0\p{Surrogate}]/u;

/** A text as it is bound to a statement; each text has exactly one form, so that it can be looked up by it. */
export type StoredText = string | Uint8Array;

/** Nearly every text is stored as text. One that would not survive is stored as a blob of its UTF-16 units. */
export function toStored(text: string): StoredText {
  return FRAGILE.test(text) ? Buffer.from(text, 'utf16le') : text;
}

export function fromStored(stored: StoredText): string {
  return typeof stored === 'string' ? stored : asBuffer(stored).toString('utf16le');
}

export function toStoredOrNull(text: string | undefined): StoredText | null {
  return text === undefined ? null : toStored(text);
}

export function fromStoredOrNull(stored: StoredText | null): string | undefined {
  return stored === null ? undefined : fromStored(stored);
}

/** The same bytes, not a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** At most so many characters from the beginning, never half of one. */
export function beginningOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHalf ? length - 1 : length);
}

/** Whether a byte of UTF-8 goes on with a character that began before it. */
export function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}
