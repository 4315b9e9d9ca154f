import { short } from './format.ts';

/** A measured figure that has a goal, and where it was measured. */
export interface Finding {
  readonly figure: number;
  readonly where: string;
}

/** One goal of the project, with the figure that decides: the worst one. */
export interface Goal {
  readonly text: string;
  readonly passed: boolean;
  readonly worst: Finding;
  readonly unit: string;
  /** How many of the figures reach the goal. */
  readonly reached: number;
  readonly findings: number;
}

export function atLeast(text: string, bound: number, unit: string, findings: readonly Finding[]): Goal {
  return goal(
    text,
    unit,
    findings,
    (figure) => figure >= bound,
    (a, b) => a.figure < b.figure,
  );
}

export function atMost(text: string, bound: number, unit: string, findings: readonly Finding[]): Goal {
  return goal(
    text,
    unit,
    findings,
    (figure) => figure <= bound,
    (a, b) => a.figure > b.figure,
  );
}

export function verdict(passed: boolean): string {
  return passed ? 'pass' : 'MISS';
}

export function worstText({ worst, unit }: Goal): string {
  return `${short(worst.figure)}${unit} (${worst.where})`;
}

function goal(
  text: string,
  unit: string,
  findings: readonly Finding[],
  reaches: (figure: number) => boolean,
  isWorse: (a: Finding, b: Finding) => boolean,
): Goal {
  const worst = findings.reduce((worse, finding) => (isWorse(finding, worse) ? finding : worse));
  const reached = findings.filter(({ figure }) => reaches(figure)).length;
  return { text, passed: reached === findings.length, worst, unit, reached, findings: findings.length };
}
