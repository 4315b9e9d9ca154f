import type { Language } from './languages.ts';
import type { LineCounts } from './lines.ts';

/**
 * A function or a method that has a body. Its complexity is cyclomatic: 1, and 1 more for each decision that stands in
 * its parameters or its body, but not in a function within it, which is counted on its own. Decisions are
 *
 * - `if`, `else if`, `elif`, and the `if` of a guard or a comprehension;
 * - every loop, and every `for` of a comprehension;
 * - each `case`, but not `default`, nor a `case` of Python that takes everything;
 * - each `catch` or `except`;
 * - each conditional expression;
 * - each `&&`, `||`, `??`, `and`, `or`, and the assignments `&&=`, `||=`, `??=`.
 *
 * `else`, `finally`, `with`, `assert`, `?.`, default values and alternatives within a pattern are none.
 */
export interface FunctionFacts {
  /** With the classes around it: `Account.deposit`. A nameless one is called by what it is assigned to, if anything. */
  readonly name: string;
  /** From 1. Where the head begins: decorators stand before it. */
  readonly line: number;
  readonly endLine: number;
  readonly complexity: number;
  /** As they are written: `self` counts, a mere type for `this` does not. */
  readonly parameters: number;
}

export interface ClassFacts {
  readonly name: string;
  readonly line: number;
  readonly endLine: number;
  /** Named functions that stand in it directly; those that a field holds are among them. */
  readonly methods: number;
}

export interface ImportFacts {
  /** As it is written. */
  readonly module: string;
  readonly line: number;
}

/** The first few of a kind, and how many there are. */
export interface Bounded<T> {
  readonly count: number;
  readonly first: readonly T[];
}

/** What can be told of a source file. */
export interface CodeFacts {
  readonly language: Language;
  readonly lines: LineCounts;
  readonly functions: Bounded<FunctionFacts>;
  readonly classes: Bounded<ClassFacts>;
  readonly imports: Bounded<ImportFacts>;
  /** Lines on which something stands that the parser could not read; it goes on after it. */
  readonly syntaxErrors: Bounded<number>;
  /** Of all functions together. */
  readonly totalComplexity: number;
  readonly maxComplexity: number;
  /** Decisions outside of all functions. */
  readonly topLevelDecisions: number;
  /** The first of those with the most lines. */
  readonly longest: FunctionFacts | undefined;
}
