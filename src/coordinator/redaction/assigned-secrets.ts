import type { IsSecretName } from './secret-names.ts';
import type { SecretSpan } from './spans.ts';

/**
 * A name and what stands between it and its value: `password=`, `"api_key": `, `\"token\":`, `token =>`, `key := `.
 * `Token::new` is none, and what follows "Unexpected token" is a piece of somebody's source.
 */
const NAMED =
  /(?<![\w-]|\bunexpected (?=token\b))([\w-]+)\\{0,8}["'`]?\s{0,32}(?:=>|:=|={1,3}|:(?!:))\s{0,32}/gi;

/** An option of a command, as one writes it (`--password x`) or in a list (`"--password", "x"`), not in a sentence. */
const OPTION =
  /(?<![\w-])--([\w-]+)(?:\s{1,32}|\\{0,8}["'`]\s{0,32},\s{0,32}(?=\\{0,8}["'`]))(?!--|[=:]|(?:and|for|is|must|or|option|to|was|with)\b)/g;

/** The password after a user's name, as curl takes both: `-u bob:secret`. Two numbers are a user and a group. */
const USER =
  /(?<![\w-])(?:-[uU]|--(?:proxy-)?user)(?:\s{1,32}|=|["'`]\s{0,32},\s{0,32})["'`]?(?!\d+:\d+(?![^\s"'`]))[^\s:"'`/]{1,100}:(?!\/)[^\s"'`]+/g;

/** Words that stand where a value is meant, but are none: types, and what is wrong with the value. */
const NO_VALUE =
  /^(?:any|bool|boolean|expired|false|int|invalid|missing|none|null|number|object|required|str|string|true|undefined|unknown|\?|(?:basic |bearer )?(?:…|\.{3})|`sha256:`)$/i;

/** Where a sentence goes on after "password:", there is no value: no password is a word of these and another one. */
const PROSE =
  /(?:an?|and|are|as|at|be|but|by|can|do|does|each|for|from|give|has|have|here|if|in|is|it|its|may|must|name|need|no|none|not|of|on|one|only|or|pass|put|see|send|set|so|such|take|that|the|their|then|there|these|they|this|those|to|try|use|was|were|what|when|where|which|who|whoever|with|write|you|your)\s+["'(]?[a-z]/iy;

/** The working folder of a shell goes by the name of a password. */
const FOLDER = /["'`]?(?:~?\/|[A-Za-z]:\\)/y;
const MAY_BE_FOLDER = /(?:^|_)pwd$/i;

/** Cookies are a list: all of it is secret, up to the end of the line, or of the text in quotes that the header is. */
const COOKIES = /cookie2?$/i;
const COOKIE_END = /[\r\n\\]/g;

/** The values of secret fields, whatever the notation. */
export function assignedSecrets(text: string, isSecretName: IsSecretName): SecretSpan[] {
  const spans: SecretSpan[] = [];
  for (const pattern of [NAMED, OPTION]) {
    let done = 0;
    for (const { 0: head, 1: name, index } of text.matchAll(pattern)) {
      const from = index + head.length;
      // What stands inside a secret value has been taken out with it.
      if (index < done || !isSecretName(name!)) continue;
      if (head.includes(': ') && matchesAt(PROSE, text, from)) continue;
      if (MAY_BE_FOLDER.test(name!) && matchesAt(FOLDER, text, from)) continue;
      const to = COOKIES.test(name!) ? endOfCookies(text, index, from) : endOfValue(text, from);
      if (to === from || NO_VALUE.test(text.slice(from, Math.min(to, from + 16)))) continue;
      spans.push([from, to]);
      done = to;
    }
  }
  for (const { 0: option, index } of text.matchAll(USER))
    spans.push([index + option.indexOf(':') + 1, index + option.length]);
  return spans;
}

function endOfCookies(text: string, name: number, from: number): number {
  const opening = text[name - 1];
  if (/["'`]/.test(text[from] ?? '')) return endOfValue(text, from);
  COOKIE_END.lastIndex = from;
  const lineEnd = COOKIE_END.exec(text)?.index ?? text.length;
  const quote = opening !== undefined && /["'`]/.test(opening) ? text.indexOf(opening, from) : -1;
  return quote === -1 ? lineEnd : Math.min(lineEnd, quote);
}

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}

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
function endOfValue(text: string, from: number): number {
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
