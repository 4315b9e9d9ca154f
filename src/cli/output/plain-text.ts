const ESCAPE = 0x1b;
const BELL = 0x07;
const BACKSLASH = 0x5c;
/** What starts a sequence in one character, as some terminals understand it. */
const ONE_CHARACTER_CSI = 0x9b;
const ONE_CHARACTER_OSC = 0x9d;
/** A command to the terminal that is longer than this was never closed: then its beginning alone is taken out. */
const LONGEST_COMMAND = 4096;
const REPLACEMENT = '\ufffd';

/**
 * A text of somebody else's as one line that cannot control the terminal: colours and other commands are taken out,
 * whatever is left of control characters and of those that turn the direction of writing is replaced, and white space
 * becomes single spaces.
 */
export function plainText(text: string): string {
  if (isHarmless(text)) return text;
  let plain = '';
  for (let at = 0; at < text.length; ) {
    const past = endOfCommand(text, at);
    if (past > at) {
      at = past;
      continue;
    }
    const code = text.codePointAt(at)!;
    at += code > 0xffff ? 2 : 1;
    if (isSpace(code)) {
      if (plain !== '' && !plain.endsWith(' ')) plain += ' ';
    } else {
      plain += isDangerous(code) ? REPLACEMENT : String.fromCodePoint(code);
    }
  }
  return plain.trimEnd();
}

/** Printable ASCII without double spaces: nearly every name. */
function isHarmless(text: string): boolean {
  let before = 0x20;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code > 0x7e || (code === 0x20 && before === 0x20)) return false;
    before = code;
  }
  return before !== 0x20;
}

/** Where a terminal's command that begins here has ended; the same place where none begins. */
function endOfCommand(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === ONE_CHARACTER_CSI) return endOfCsi(text, at + 1);
  if (first === ONE_CHARACTER_OSC) return endOfString(text, at + 1);
  if (first !== ESCAPE) return at;
  const second = text[at + 1];
  if (second === '[') return endOfCsi(text, at + 2);
  if (second !== undefined && ']P^_X'.includes(second)) return endOfString(text, at + 2);
  // A short one: letters between, then a last one.
  let end = at + 1;
  while (isBetween(text.charCodeAt(end), 0x20, 0x2f)) end++;
  return isBetween(text.charCodeAt(end), 0x30, 0x7e) ? end + 1 : at + 1;
}

function endOfCsi(text: string, from: number): number {
  let end = from;
  const last = from + LONGEST_COMMAND;
  while (end < last && isBetween(text.charCodeAt(end), 0x20, 0x3f)) end++;
  return isBetween(text.charCodeAt(end), 0x40, 0x7e) ? end + 1 : from;
}

function endOfString(text: string, from: number): number {
  const last = Math.min(text.length, from + LONGEST_COMMAND);
  for (let at = from; at < last; at++) {
    const code = text.charCodeAt(at);
    if (code === BELL || code === 0x9c) return at + 1;
    if (code === ESCAPE) return text.charCodeAt(at + 1) === BACKSLASH ? at + 2 : from;
  }
  return from;
}

function isBetween(code: number, first: number, last: number): boolean {
  return code >= first && code <= last;
}

function isSpace(code: number): boolean {
  return isBetween(code, 0x09, 0x0d) || code === 0x20 || code === 0x85 || code === 0x2028 || code === 0x2029;
}

function isDangerous(code: number): boolean {
  if (code < 0x20 || isBetween(code, 0x7f, 0x9f)) return true;
  // Marks that turn the direction of what follows them, and halves of a pair.
  if (isBetween(code, 0x202a, 0x202e) || isBetween(code, 0x2066, 0x2069)) return true;
  return code === 0x200e || code === 0x200f || code === 0x061c || isBetween(code, 0xd800, 0xdfff);
}
