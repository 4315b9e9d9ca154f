import type { CharSet } from './char-set.ts';

/** What a pattern says, whether it was written as a glob or as a regular expression. */
export type PatternNode =
  | { readonly kind: 'char'; readonly set: CharSet }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly options: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly part: PatternNode; readonly min: number; readonly max: number }
  | { readonly kind: 'assert'; readonly what: Assertion };

/** A place between two characters. */
export type Assertion = 'start' | 'end' | 'word-edge' | 'no-word-edge';

/** A pattern that cannot be used; the message says why, for whoever wrote it. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/** Groups inside groups; more is a mistake or an attack. */
const DEEPEST = 50;

/** The text of a pattern, read from left to right. */
export class PatternReader {
  private readonly characters: readonly string[];
  private at = 0;
  private depth = 0;

  constructor(readonly text: string) {
    this.characters = [...text];
  }

  get isAtEnd(): boolean {
    return this.at >= this.characters.length;
  }

  peek(ahead = 0): string | undefined {
    return this.characters[this.at + ahead];
  }

  take(): string {
    const character = this.characters[this.at];
    if (character === undefined) throw this.error('it ends too early');
    this.at++;
    return character;
  }

  /** Takes this text if it comes next. */
  tryTake(text: string): boolean {
    const wanted = [...text];
    if (!wanted.every((character, index) => this.peek(index) === character)) return false;
    this.at += wanted.length;
    return true;
  }

  /** Takes what comes next if it has this form, which must begin with `^`. */
  tryMatch(form: RegExp): RegExpExecArray | undefined {
    // No form that is asked for is longer.
    const match = form.exec(this.characters.slice(this.at, this.at + 32).join(''));
    if (match === null) return undefined;
    this.at += [...match[0]].length;
    return match;
  }

  nested<T>(read: () => T): T {
    if (++this.depth > DEEPEST) throw this.error(`its groups are nested more than ${DEEPEST} deep`);
    const result = read();
    this.depth--;
    return result;
  }

  error(problem: string): PatternError {
    const shown = this.text.length > 80 ? `${this.text.slice(0, 80)}…` : this.text;
    return new PatternError(`The pattern ${JSON.stringify(shown)} is not valid: ${problem}.`);
  }
}
