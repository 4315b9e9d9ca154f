import type { IsSecretName } from './names.ts';
import type { Span } from './span.ts';
import { endOfValue } from './value-end.ts';

/**
 * A name and what stands between it and its value: `password=`, `"api_key": `, `\"token\":`, `token =>`, `key := `.
 * `Token::new` is none, and what follows "Unexpected token" is a piece of somebody's source.
 */
const NAMED =
  /(?<![\w-]|\bunexpected (?=token\b))([\w-]+)\\{0,8}["'`]?\s{0,32}(?:=>|:=|={1,3}|:(?!:))\s{0,32}/gi;

/** An option of a command, as one writes it (`--password x`) or in a list (`"--password", "x"`), not in a sentence. */
const OPTION =
  /(?<![\w-])--([\w-]+)(?:\s{1,32}|\\{0,8}["'`]\s{0,32},\s{0,32}(?=\\{0,8}["'`]))(?!--|[=:]|(?:and|for|is|must|or|option|to|was|with)\b)/g;

/** Words that stand where a value is meant, but are none: types, and what is wrong with the value. */
const NO_VALUE =
  /^(?:any|bool|boolean|expired|false|int|invalid|missing|none|null|number|object|required|str|string|true|undefined|unknown)$/i;

/** The values of secret fields, whatever the notation. */
export function assignedSecrets(text: string, isSecretName: IsSecretName): Span[] {
  const spans: Span[] = [];
  for (const pattern of [NAMED, OPTION]) {
    let done = 0;
    for (const { 0: head, 1: name, index } of text.matchAll(pattern)) {
      const from = index + head.length;
      // What stands inside a secret value has been taken out with it.
      if (index < done || !isSecretName(name!)) continue;
      const to = endOfValue(text, from);
      if (to === from || NO_VALUE.test(text.slice(from, Math.min(to, from + 16)))) continue;
      spans.push([from, to]);
      done = to;
    }
  }
  return spans;
}
