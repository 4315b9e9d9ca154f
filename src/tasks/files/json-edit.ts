interface Member {
  readonly key: string;
  /** The whitespace before it. */
  readonly lead: string;
  /** Key and value as written, up to the comma. */
  readonly text: string;
}

interface ObjectText {
  /** Up to the opening brace. */
  readonly head: string;
  readonly members: readonly Member[];
  /** From the whitespace before the closing brace. */
  readonly tail: string;
}

/**
 * Sets members of a JSON object; `undefined` removes one. Everything else keeps its exact text: order, indentation, and
 * numbers that JavaScript cannot represent. The text must be valid JSON.
 */
export function editJson(text: string, changes: Readonly<Record<string, unknown>>): string {
  const { head, members, tail } = scanObject(text);
  const open = new Map(Object.entries(changes));
  const lead = members[0]?.lead ?? '\n  ';
  const lastOf = new Map(members.map(({ key }, place) => [key, place]));
  const kept = members.flatMap((member, place) => {
    // If a key is repeated, the last one counts.
    if (!open.has(member.key) || lastOf.get(member.key) !== place) return [member];
    const value = open.get(member.key);
    open.delete(member.key);
    return value === undefined ? [] : [{ ...member, text: memberText(member.key, value, lead) }];
  });
  const added = [...open]
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ({ key, lead, text: memberText(key, value, lead) }));
  const body = [...kept, ...added].map((member) => member.lead + member.text).join(',');
  const end = members.length === 0 && body !== '' ? `\n${tail.trimStart()}` : tail;
  return `${head}${body}${end}`;
}

function memberText(key: string, value: unknown, lead: string): string {
  const line = /\r?\n/.exec(lead)?.[0];
  if (line === undefined) return `${JSON.stringify(key)}: ${JSON.stringify(value)}`;
  const indent = lead.slice(lead.lastIndexOf('\n') + 1);
  const written = JSON.stringify(value, null, indent === '' ? 2 : indent);
  return `${JSON.stringify(key)}: ${written.replaceAll('\n', line + indent)}`;
}

function scanObject(text: string): ObjectText {
  let at = text.indexOf('{') + 1;
  const head = text.slice(0, at);
  const members: Member[] = [];
  for (;;) {
    const start = at;
    at = pastSpace(text, at);
    // An empty object.
    if (text[at] === '}') return { head, members, tail: text.slice(start) };
    const keyStart = at;
    const keyEnd = pastString(text, at);
    const valueStart = pastSpace(text, text.indexOf(':', keyEnd) + 1);
    const valueEnd = pastValue(text, valueStart);
    at = pastSpace(text, valueEnd);
    const isLast = text[at] !== ',';
    members.push({
      key: JSON.parse(text.slice(keyStart, keyEnd)),
      lead: text.slice(start, keyStart),
      text: text.slice(keyStart, isLast ? valueEnd : at),
    });
    if (isLast) return { head, members, tail: text.slice(valueEnd) };
    at++;
  }
}

function pastSpace(text: string, at: number): number {
  while (at < text.length && ' \t\r\n'.includes(text[at]!)) at++;
  return at;
}

function pastString(text: string, at: number): number {
  at++;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function pastValue(text: string, at: number): number {
  let depth = 0;
  do {
    const sign = text[at];
    if (sign === '"') at = pastString(text, at);
    else {
      if (sign === '{' || sign === '[') depth++;
      else if (sign === '}' || sign === ']') depth--;
      at++;
    }
    if (depth > 0) continue;
    // Numbers and keywords end where another character begins.
    if (sign !== undefined && /[\w.+-]/.test(sign) && /[\w.+-]/.test(text[at] ?? '')) continue;
    return at;
  } while (at < text.length);
  return at;
}
