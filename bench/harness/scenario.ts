import type { Goal } from './goals.ts';
import type { Spread } from './statistics.ts';
import type { Table } from './table.ts';

/** Somebody who does the work that a scenario gives to all alike. */
export interface Contestant<Input> {
  readonly name: string;
  run(input: Input): Promise<unknown>;
}

/** One setting of a scenario, as plain data: it is handed to child processes. */
export interface Case {
  readonly label: string;
  /** Who takes part, by name. */
  readonly contestants: readonly string[];
  /** For one that takes long. */
  readonly maxRepeats?: number;
}

/** What one repeat measured, by the name of the figure. */
export type Figures = Readonly<Record<string, number>>;

export interface CaseResult<C extends Case = Case> {
  readonly work: C;
  /** The figure of a contestant over all repeats. */
  figure(contestant: string, name: string): Spread;
}

export interface Report {
  readonly tables: readonly Table[];
  readonly goals: readonly Goal[];
}

/** A part of the suite: what is run, how it is measured, and which goals it checks. */
export interface Scenario<C extends Case = Case> {
  /** For `--only`. */
  readonly name: string;
  readonly title: string;
  cases(isQuick: boolean): readonly C[];
  /** One repeat of one contestant. It has a fresh process for itself. */
  measure(contestant: string, work: C): Promise<Figures>;
  report(results: readonly CaseResult<C>[]): Report;
}
