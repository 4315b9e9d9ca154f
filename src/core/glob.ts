import { VolleyError } from './errors.ts';
import { show } from './numbers.ts';

/** Limits on length and nesting. Compiling a glob takes time and stack in proportion to both. */
const MAX_LENGTH = 4096;
const MAX_DEPTH = 50;
/** The most stars in one path segment, and the most `**` segments: matching may be exponential in either. */
const MAX_STARS = 3;
/** The most combinations of alternatives times stars: matching may try each of them. */
const MAX_WAYS = [4096, 4096, 128, 8] as const;

/** Letters, or one character class per letter: a repetition of it matches in only one way. */
const REPEATED_ONCE = /[+*]\((?:\[[!^]?[^[\]\\/]+\]|[^()[\]{}*?+|\\/!@,])+\)/y;
const REPEATED_NAMES = /[+*]\(([^()[\]{}*?+|\\/!@,]+(?:\|[^()[\]{}*?+|\\/!@,]+)+)\)/y;

/**
 * Describes why a glob is too complex; undefined if it can be used. Untrusted globs are checked here before picomatch,
 * whose regular expressions may take exponential time.
 */
export function globProblem(glob: string): string | undefined {
  if (glob.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  if (/"|\\\\/.test(glob) && /[([{]/.test(glob)) return 'has quotes or two backslashes besides brackets';
  return new GlobCheck(glob).problem();
}

interface Effort {
  /** Stars in the current path segment. */
  readonly stars: number;
  /** The number of `**` segments. */
  readonly crossings: number;
}

interface Group {
  readonly bracket: '(' | '{';
  readonly before: Effort;
  readonly waysBefore: number;
  /** Combinations of the alternatives read so far. */
  most: Effort;
  ways: number;
}

/** Parses a glob the way picomatch does and adds up the worst-case cost of matching it. */
class GlobCheck {
  private readonly open: Group[] = [];
  private now: Effort = { stars: 0, crossings: 0 };
  private ways = 1;
  private most: Effort = { stars: 0, crossings: 0 };
  private maxWays = 1;

  constructor(private readonly glob: string) {}

  problem(): string | undefined {
    for (let at = 0; at < this.glob.length; ) {
      const next = this.read(at);
      if (typeof next === 'string') return next;
      at = next;
    }
    // A segment may contain one bracket; next to a wildcard, picomatch's output is unpredictable.
    if (this.open.length > 0 && /[*?+|]/.test(this.glob)) return 'has a bracket that is not closed';
    while (this.open.length > 0) this.close();
    if (this.most.stars > MAX_STARS) return `has more than ${MAX_STARS} stars in one name`;
    if (this.most.crossings > MAX_STARS) return `crosses folders with ** more than ${MAX_STARS} times`;
    if (this.maxWays > MAX_WAYS[this.most.stars as 0 | 1 | 2 | 3]) return 'has too many alternatives';
    return undefined;
  }

  /** Parses the token at an index. Returns the next index or an error. */
  private read(at: number): number | string {
    const { glob } = this;
    const [sign, next, previous] = [glob[at]!, glob[at + 1], glob[at - 1] ?? ''];
    const isInParentheses = this.open.some(({ bracket }) => bracket === '(');
    const isRepetition = '+*'.includes(sign) && next === '(';
    if (isRepetition) return this.repetition(at);
    switch (sign) {
      case '\\':
        return at + 2;
      case '+':
        if (isInParentheses || ')]}'.includes(previous || '.')) return 'repeats a group with "+"';
        return at + 1;
      case '?':
        if ('()'.includes(previous || '.') && (next !== '(' || previous === '('))
          return 'has a "?" that makes a group of a regular expression';
        return at + 1;
      case '*':
        return this.stars(at);
      case '/':
        this.add({ stars: -this.now.stars, crossings: 0 });
        return at + 1;
      case '[':
        return this.characterClass(at);
      case '(':
      case '{':
        if (this.open.length === MAX_DEPTH) return `has brackets nested more than ${MAX_DEPTH} deep`;
        if (sign === '(' && previous === '!') this.add({ stars: 1, crossings: 0 });
        this.open.push({
          bracket: sign,
          before: this.now,
          waysBefore: this.ways,
          most: this.now,
          ways: sign === '(' && previous === '?' ? 1 : 0,
        });
        this.ways = 1;
        return at + 1;
      case ')':
      case '}':
        return this.end(at, sign === ')' ? '(' : '{');
      case '|':
      case ',':
        if (sign === '|' || this.open.at(-1)?.bracket === '{') this.alternative();
        return at + 1;
      default:
        return at + 1;
    }
  }

  private stars(at: number): number {
    let end = at;
    while (this.glob[end] === '*' && (end === at || this.glob[end + 1] !== '(')) end++;
    const isName =
      end - at > 1 && '/{(,|'.includes(this.glob[at - 1] ?? '/') && '/}),|'.includes(this.glob[end] ?? '/');
    this.add({ stars: 1, crossings: isName ? 1 : 0 });
    return end;
  }

  /** Alternatives must differ in their first letter: `+(a|aa)` matches `aaaa` in many ways. */
  private repetition(at: number): number | string {
    this.add({ stars: 1, crossings: 0 });
    for (const shape of [REPEATED_ONCE, REPEATED_NAMES]) {
      shape.lastIndex = at;
      const found = shape.exec(this.glob);
      if (found === null) continue;
      const first = found[1]?.split('|').map((name) => name[0]!.toLowerCase()) ?? [];
      if (new Set(first).size === first.length) return at + found[0].length;
    }
    return `repeats a group with "${this.glob[at]}(" whose alternatives are not plain or begin alike`;
  }

  private characterClass(at: number): number | string {
    if (!this.glob.includes(']', at + 1)) return at + 1;
    let end = at + 1;
    if (this.glob[end] === '!' || this.glob[end] === '^') end++;
    if (this.glob[end] === ']') end++;
    while (end < this.glob.length && this.glob[end] !== ']') end += this.glob[end] === '\\' ? 2 : 1;
    const text = this.glob.slice(at + 1, end);
    if (end >= this.glob.length || (text.includes('[:') && text.includes('\\')))
      return 'has a "[" without a "]"';
    return end + 1;
  }

  private end(at: number, bracket: '(' | '{'): number | string {
    if (!this.open.some((group) => group.bracket === bracket)) return at + 1;
    if (this.open.at(-1)!.bracket !== bracket) return 'has brackets that cross one another';
    this.close();
    return at + 1;
  }

  private alternative(): void {
    const group = this.open.at(-1);
    if (group === undefined) return;
    group.most = larger(group.most, this.now);
    group.ways += this.ways;
    this.now = group.before;
    this.ways = 1;
  }

  private close(): void {
    this.alternative();
    const group = this.open.pop()!;
    this.now = group.most;
    this.ways = group.waysBefore * group.ways;
    this.maxWays = Math.max(this.maxWays, this.ways);
  }

  private add({ stars, crossings }: Effort): void {
    this.now = { stars: this.now.stars + stars, crossings: this.now.crossings + crossings };
    this.most = larger(this.most, this.now);
  }
}

function larger(a: Effort, b: Effort): Effort {
  return { stars: Math.max(a.stars, b.stars), crossings: Math.max(a.crossings, b.crossings) };
}

export function checkGlob(glob: string): void {
  const problem = globProblem(glob);
  if (problem === undefined) return;
  throw new VolleyError('INVALID_VALUE', `The glob ${show(glob)} ${problem}: write a simpler one.`);
}
