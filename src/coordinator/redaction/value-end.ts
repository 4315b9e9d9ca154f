/** How the credentials of a header begin; they go on after the space. */
const SCHEME = /(?:Basic|Bearer|Digest|Negotiate|Token|ApiKey)\s{1,32}/iy;

const QUOTE = /(\\{0,8})(["'`])/y;

const PLAIN = /[^\s,;&)\]}"'`\\]+/y;

/**
 * What ends a value that is not quoted: a space, a quote before a delimiter, or delimiters before a space, a quote or
 * another name. Others belong to the value: a password may hold a comma.
 */
const END =
  /\s|\\{0,8}["'`](?=\s|$|[,;:)\]}>])|[,;&)\]}]{1,8}(?:\s|$|\\{0,8}["'`]|[\w-]{1,64}\\{0,8}["'`]?\s?[:=])/y;

/** What matters inside brackets. An apostrophe after a letter is no quote. */
const INSIDE = /(\\{0,8})("|(?<!\w)['`])|[[({\])}]/g;

/** Where a value ends that begins at a position. One without an end takes the rest: it may have been cut. */
export function endOfValue(text: string, from: number): number {
  let at = from + (matchAt(SCHEME, text, from)?.[0].length ?? 0);
  const quote = matchAt(QUOTE, text, at);
  if (quote !== undefined) at = endOfQuoted(text, at, quote[1]!.length, quote[2]!);
  else if ('[({'.includes(text.charAt(at) || ' ')) at = endOfBracketed(text, at);
  // Something may follow directly, as in a shell: 'abc'"def"ghi.
  while (at < text.length && matchAt(END, text, at) === undefined)
    at += matchAt(PLAIN, text, at)?.[0].length ?? 1;
  return at;
}

/**
 * Behind the quote that closes the one at a position. Where quotes are escaped (text inside of text), one with twice
 * the escapes is part of the value, and one with fewer ends the text around it.
 */
function endOfQuoted(text: string, from: number, escapes: number, quote: string): number {
  const first = from + escapes + 1;
  for (let at = text.indexOf(quote, first); at !== -1; at = text.indexOf(quote, at + 1)) {
    let before = 0;
    while (at - before > first && text[at - before - 1] === '\\') before++;
    if (before < escapes) return at - before;
    if (before % (2 * (escapes + 1)) === escapes) return at + 1;
  }
  return text.length;
}

function endOfBracketed(text: string, from: number): number {
  let depth = 0;
  let at = from;
  do {
    INSIDE.lastIndex = at;
    const found = INSIDE.exec(text);
    if (found === null) return text.length;
    const [whole, escapes, quote] = found;
    at = found.index + whole.length;
    if (quote !== undefined) at = endOfQuoted(text, found.index, escapes!.length, quote);
    else depth += '[({'.includes(whole) ? 1 : -1;
  } while (depth > 0);
  return at;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}
