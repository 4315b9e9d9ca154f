import { compileRe2, invalid, type LinearPattern, literal } from './regex.ts';

const NO_SLASH = '[^/]';
const ANY = '[\\x{0}-\\x{10ffff}]';
const MAX_DEPTH = 50;

/**
 * A path glob: `*` and `?` stay within a name, `**` as a whole segment crosses folders, `[a-z]`, `[!a-z]` and `{a,b}`
 * are choices, and a backslash escapes the next character. Names that start with a dot are not special. Throws a
 * `PatternError`.
 */
export function linearGlob(glob: string, ignoreCase = false): LinearPattern {
  return new GlobTranslation(glob).result(ignoreCase);
}

class GlobTranslation {
  private readonly characters: readonly string[];
  private at = 0;
  private depth = 0;
  private size = 0;

  constructor(private readonly glob: string) {
    this.characters = [...glob];
  }

  result(ignoreCase: boolean): LinearPattern {
    const text = this.sequence('');
    return compileRe2(this.glob, `\\A(?:${text})\\z`, this.size, ignoreCase);
  }

  /** Parses up to one of the stops, without consuming it. */
  private sequence(stops: string): string {
    let text = '';
    for (;;) {
      const next = this.characters[this.at];
      if (next === undefined || stops.includes(next)) return text;
      this.size++;
      text += this.part();
    }
  }

  private part(): string {
    const isSegmentStart = '/{,'.includes(this.characters[this.at - 1] ?? '/');
    const character = this.take();
    switch (character) {
      case '*':
        return this.stars(isSegmentStart);
      case '?':
        return NO_SLASH;
      case '{':
        return this.alternatives();
      case '[':
        return this.characterClass();
      case '\\':
        return literal(this.take().codePointAt(0)!);
      default:
        return literal(character.codePointAt(0)!);
    }
  }

  private stars(isSegmentStart: boolean): string {
    const first = this.at;
    while (this.characters[this.at] === '*') this.at++;
    const isSegment = this.at > first && isSegmentStart && '/},'.includes(this.characters[this.at] ?? '/');
    if (!isSegment) return `${NO_SLASH}*`;
    return this.tryTake('/') ? `(?:${ANY}*/)?` : `${ANY}*`;
  }

  private alternatives(): string {
    if (++this.depth > MAX_DEPTH) throw this.error(`its groups are nested more than ${MAX_DEPTH} deep`);
    const options: string[] = [];
    do options.push(this.sequence(',}'));
    while (this.tryTake(','));
    if (!this.tryTake('}')) throw this.error('a "{" has no "}"');
    this.depth--;
    return `(?:${options.join('|')})`;
  }

  /** Never matches a slash, so that it stays within a name. */
  private characterClass(): string {
    const isNegated = this.tryTake('!') || this.tryTake('^');
    let members = isNegated ? '/' : '';
    let isFirst = true;
    while (isFirst || !this.tryTake(']')) {
      isFirst = false;
      if (this.characters[this.at] === undefined) throw this.error('a "[" has no "]"');
      const first = this.member();
      const after = this.characters[this.at + 1];
      const isRange = this.characters[this.at] === '-' && after !== ']' && after !== undefined;
      if (isRange) this.at++;
      const last = isRange ? this.member() : first;
      if (last < first) throw this.error('a range in […] is in the wrong order');
      if (isNegated || first > 47 || last < 47) members += `${literal(first)}-${literal(last)}`;
      else {
        if (first < 47) members += `${literal(first)}-${literal(46)}`;
        if (last > 47) members += `${literal(48)}-${literal(last)}`;
      }
    }
    if (members === '') return `[^${ANY.slice(1)}`;
    return `[${isNegated ? '^' : ''}${members}]`;
  }

  private member(): number {
    const character = this.take();
    return (character === '\\' ? this.take() : character).codePointAt(0)!;
  }

  private take(): string {
    const character = this.characters[this.at];
    if (character === undefined) throw this.error('it ends unexpectedly');
    this.at++;
    return character;
  }

  private tryTake(character: string): boolean {
    if (this.characters[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private error(problem: string): Error {
    return invalid(this.glob, problem);
  }
}
