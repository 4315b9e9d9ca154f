/** Longer names are not compared: no name in Volley is that long, and the cost is quadratic. */
const MAX_LENGTH = 128;
/** The most names compared: a hint is not worth seconds. */
const MAX_COMPARED = 1000;

/**
 * Finds the known name that was probably meant, for "did you mean": at most one mistake per three letters, where a
 * mistake is a missing, extra or wrong letter or two swapped neighbors. Ignores case and `_`, `-`, `.`, space. The
 * first of equally near names wins.
 */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const wanted = plain(name);
  let best: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  let compared = 0;
  for (const candidate of known) {
    if (candidate.length > MAX_LENGTH) continue;
    const letters = plain(candidate);
    const allowed = Math.max(1, Math.floor(Math.max(wanted.length, letters.length) / 3));
    if (Math.abs(wanted.length - letters.length) > allowed) continue;
    if (++compared > MAX_COMPARED) break;
    const mistakes = distance(wanted, letters);
    // Names with nothing in common never match, however short they are.
    if (mistakes > allowed || mistakes >= Math.max(wanted.length, letters.length)) continue;
    if (mistakes < fewest) {
      fewest = mistakes;
      best = candidate;
    }
  }
  return best;
}

/** The most different names searched for in the same list. */
const MAX_LOOKUPS = 100;

/** Finds the nearest of many names repeatedly: each name is searched for once, and only a few are. */
export class NearestNames {
  private readonly found = new Map<string, string | undefined>();

  constructor(private readonly known: () => Iterable<string>) {}

  find(name: string): string | undefined {
    if (!this.found.has(name)) {
      if (this.found.size >= MAX_LOOKUPS) return undefined;
      this.found.set(name, nearest(name, this.known()));
    }
    return this.found.get(name);
  }
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[\s._-]+/g, '_');
}

/**
 * Edit distance in which a swap of neighbors counts once (optimal string alignment). Our own, because the core imports
 * no package.
 */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      let least = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (isSame ? 0 : 1));
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isSwap) least = Math.min(least, beforeLast[column - 2]! + 1);
      current.push(least);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length]!;
}
