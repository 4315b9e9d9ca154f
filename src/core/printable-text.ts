const REPLACEMENT = '\ufffd';
const ESCAPE = 0x1b;
const BELL = 0x07;
const STRING_TERMINATOR = 0x9c;
/** One-character forms of terminal escape sequences. */
const CSI = 0x9b;
const STRING_STARTS = new Set([0x90, 0x98, 0x9d, 0x9e, 0x9f]);
/** A longer sequence was never terminated; only its start is removed. */
const MAX_COMMAND_LENGTH = 4096;
/** Zero-width non-joiner and joiner. Scripts and emoji above this code point need them; below it they only mislead. */
const JOINERS = new Set([0x200c, 0x200d]);
const FIRST_JOINED = 0x600;

/**
 * Characters that a reader cannot see but a terminal may obey: control characters, unpaired surrogates, line
 * separators, and Unicode's default-ignorable characters, which include all that change text direction. Variation
 * selectors belong to the preceding character.
 */
const UNPRINTABLE = /(?![\n\t\p{Variation_Selector}])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{DI}\ufff9-\ufffb]/u;
const ALL_UNPRINTABLE = new RegExp(UNPRINTABLE, 'gu');
const LINE_BREAK = /[\r\v\f\x85\u2028\u2029]/;

/**
 * Makes untrusted text safe to show: it cannot control a terminal, overwrite other output or disguise itself. Escape
 * sequences are removed, line breaks of any kind become `\n`, and other unprintable characters become U+FFFD. Linear in
 * the length of the text.
 */
export function printableText(text: string): string {
  const pieces: string[] = [];
  let at = 0;
  ALL_UNPRINTABLE.lastIndex = 0;
  for (let found = ALL_UNPRINTABLE.exec(text); found !== null; found = ALL_UNPRINTABLE.exec(text)) {
    const { 0: character, index } = found;
    if (index > at) pieces.push(text.slice(at, index));
    at = endOfCommand(text, index);
    if (at === index) {
      at += character.length;
      if (character === '\r' && text[at] === '\n') at++;
      if (LINE_BREAK.test(character)) pieces.push('\n');
      else pieces.push(isJoining(character, pieces.at(-1), text.codePointAt(at)) ? character : REPLACEMENT);
    }
    ALL_UNPRINTABLE.lastIndex = at;
  }
  return at === 0 ? text : pieces.join('') + text.slice(at);
}

/** Like `printableText`, but on one line, for names and table cells: whitespace becomes single spaces. */
export function printableLine(text: string): string {
  return printableText(text)
    .replace(/[\n\t ]+/g, ' ')
    .replace(/^ | $/g, '');
}

/** The end of a program's output, printable. */
export function outputEnd(output: string, length: number): string {
  const text = printableText(output).trim();
  return text.length > length ? `…${text.slice(-length)}` : text;
}

/** Equivalent JSON with everything unprintable escaped. */
export function printableJson(json: string): string {
  return json.replace(ALL_UNPRINTABLE, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      const unit = character.charCodeAt(index);
      return `\\u${unit.toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}

function isJoining(character: string, before: string | undefined, after: number | undefined): boolean {
  return (
    JOINERS.has(character.charCodeAt(0)) &&
    before !== undefined &&
    before.charCodeAt(before.length - 1) >= FIRST_JOINED &&
    after !== undefined &&
    after >= FIRST_JOINED &&
    !UNPRINTABLE.test(String.fromCodePoint(after))
  );
}

/** Returns the end of the escape sequence that starts here, or the same index if none does. */
function endOfCommand(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === CSI) return endOfCsi(text, at + 1);
  if (STRING_STARTS.has(first)) return endOfString(text, at + 1);
  if (first !== ESCAPE) return at;
  const second = text[at + 1];
  if (second === '[') return endOfCsi(text, at + 2);
  if (second !== undefined && ']P^_X'.includes(second)) return endOfString(text, at + 2);
  // A short sequence: intermediate characters, then a final one.
  let end = at + 1;
  const last = end + MAX_COMMAND_LENGTH;
  while (end < last && isBetween(text.charCodeAt(end), 0x20, 0x2f)) end++;
  return isBetween(text.charCodeAt(end), 0x30, 0x7e) ? end + 1 : at + 1;
}

function endOfCsi(text: string, from: number): number {
  let end = from;
  const last = from + MAX_COMMAND_LENGTH;
  while (end < last && isBetween(text.charCodeAt(end), 0x20, 0x3f)) end++;
  return isBetween(text.charCodeAt(end), 0x40, 0x7e) ? end + 1 : from;
}

/** Ends at the first control character: if that is not the terminator, the string was never closed. */
function endOfString(text: string, from: number): number {
  const last = Math.min(text.length, from + MAX_COMMAND_LENGTH);
  for (let at = from; at < last; at++) {
    const code = text.charCodeAt(at);
    if (code === BELL || code === STRING_TERMINATOR) return at + 1;
    if (code === ESCAPE) return text[at + 1] === '\\' ? at + 2 : from;
    if (code < 0x20 || isBetween(code, 0x7f, 0x9f)) return from;
  }
  return from;
}

function isBetween(code: number, first: number, last: number): boolean {
  return code >= first && code <= last;
}
