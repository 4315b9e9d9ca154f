import type { Language } from './languages.ts';
import type { LineCounts } from './lines.ts';

/**
 * A function or method with a body. Its complexity is cyclomatic: 1, plus 1 for each decision in its parameters or
 * body, but not in a nested function, which is counted separately. Decisions are
 *
 * - `if`, `else if`, `elif`, and the `if` of a guard or a comprehension;
 * - every loop, and every `for` of a comprehension;
 * - each `case`, but not `default`, nor a Python `case` that matches everything;
 * - each `catch` or `except`;
 * - each conditional expression;
 * - each `&&`, `||`, `??`, `and`, `or`, and the assignments `&&=`, `||=`, `??=`.
 *
 * `else`, `finally`, `with`, `assert`, `?.`, default values and alternatives within a pattern do not count.
 */
export interface FunctionFacts {
  /**
   * Includes the enclosing classes: `Account.deposit`. An anonymous function is named after its assignment target, if
   * any.
   */
  readonly name: string;
  /** From 1. The line of the head, after decorators. */
  readonly line: number;
  readonly endLine: number;
  readonly complexity: number;
  /** As written: `self` counts, a mere type for `this` does not. */
  readonly parameters: number;
}

export interface ClassFacts {
  readonly name: string;
  readonly line: number;
  readonly endLine: number;
  /** Named functions directly in it, including those held by fields. */
  readonly methods: number;
}

export interface ImportFacts {
  /** As written. */
  readonly module: string;
  readonly line: number;
}

/** The first entries of a kind, and the total. */
export interface Bounded<T> {
  readonly count: number;
  readonly first: readonly T[];
}

/** The analysis of a source file. */
export interface CodeFacts {
  readonly language: Language;
  readonly lines: LineCounts;
  readonly functions: Bounded<FunctionFacts>;
  readonly classes: Bounded<ClassFacts>;
  readonly imports: Bounded<ImportFacts>;
  /** Lines the parser could not read; it continues after them. */
  readonly syntaxErrors: Bounded<number>;
  /** Of all functions together. */
  readonly totalComplexity: number;
  readonly maxComplexity: number;
  /** Decisions outside all functions. */
  readonly topLevelDecisions: number;
  /** The first of those with the most lines. */
  readonly longest: FunctionFacts | undefined;
}
