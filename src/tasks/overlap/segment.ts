/** A part of a name between slashes that stands for one character, or for any number of them. */
type Part =
  | { readonly type: 'letter'; readonly letter: string }
  | { readonly type: 'one'; readonly set: RegExp | undefined }
  | { readonly type: 'any' };

/** The name of one level of a path, which may be a glob. */
export type Segment = readonly Part[];

const ANY: Part = { type: 'any' };

/** Reads `*`, `?` and `[a-z]`; of everything else that globs know, any text may come. */
export function parseSegment(text: string): Segment {
  // `+(a|b)`, `!(a)` and a `{` that was not taken apart: whatever they stand for, it may be any text.
  if (/[!?*+@]\(/.test(text) || /[{}]/.test(text)) return [ANY];
  const parts: Part[] = [];
  for (let at = 0; at < text.length; ) {
    const sign = text[at]!;
    const set = sign === '[' ? /^\[[^\]]+\]/.exec(text.slice(at))?.[0] : undefined;
    if (set !== undefined) parts.push({ type: 'one', set: setOf(set) });
    else if (sign === '*') parts.push(ANY);
    else if (sign === '?') parts.push({ type: 'one', set: undefined });
    else if (sign === '\\' && at + 1 < text.length) parts.push({ type: 'letter', letter: text[at + 1]! });
    else parts.push({ type: 'letter', letter: sign });
    at += set?.length ?? (sign === '\\' ? 2 : 1);
  }
  return parts;
}

/** Undefined, which is any character, for a set that cannot be read. */
function setOf(text: string): RegExp | undefined {
  try {
    return new RegExp(`^${text.replace(/^\[!/, '[^')}$`, 'i');
  } catch {
    return undefined;
  }
}

/** Whether some name matches both. */
export function segmentsMeet(a: Segment, b: Segment): boolean {
  // Which places of b can be reached with what of a was read.
  let reached = reachedByNothing(b);
  for (const part of a) {
    const next = new Set<number>();
    if (part.type === 'any') {
      // Whatever of b follows may be read by it.
      const first = Math.min(...reached);
      for (let place = first; place <= b.length; place++) next.add(place);
    } else {
      for (const place of reached) {
        const other = b[place];
        if (other === undefined) continue;
        if (other.type === 'any') next.add(place);
        else if (lettersMeet(part, other)) addWithStars(b, place + 1, next);
      }
    }
    for (const place of [...next]) addWithStars(b, place, next);
    reached = next;
    if (reached.size === 0) return false;
  }
  return reached.has(b.length);
}

function reachedByNothing(b: Segment): Set<number> {
  const places = new Set<number>();
  addWithStars(b, 0, places);
  return places;
}

/** A star may also stand for nothing. */
function addWithStars(b: Segment, place: number, into: Set<number>): void {
  into.add(place);
  while (b[place]?.type === 'any') into.add(++place);
}

function lettersMeet(a: Part, b: Part): boolean {
  if (a.type === 'letter' && b.type === 'letter') return a.letter === b.letter;
  if (a.type === 'letter') return b.type !== 'one' || b.set?.test(a.letter) !== false;
  if (b.type === 'letter') return lettersMeet(b, a);
  return true;
}
