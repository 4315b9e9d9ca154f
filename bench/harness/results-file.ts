import { type Goal, verdict } from './goals.ts';
import { renderGoals } from './report.ts';
import { renderTable } from './table.ts';

/** What a run of the suite has found. */
export interface Findings {
  /** The machine, the versions and the command, as a list. */
  readonly machine: string;
  /** The text of each scenario, which begins with its heading. */
  readonly sections: readonly string[];
  readonly goals: readonly Goal[];
}

const GOALS = '## Goals';
const INTRO = 'The last run of the suite. [README.md](README.md) says what is measured and how to read it.';

/** The text of RESULTS.md after a run of the whole suite. */
export function wholeResults({ machine, sections, goals }: Findings): string {
  const missed = goals.filter(({ passed }) => !passed).length;
  const parts = [
    '# Results',
    INTRO,
    machine,
    GOALS,
    renderGoals(goals),
    summaryText(goals.length, missed),
    ...sections,
  ];
  return `${parts.join('\n\n')}\n`;
}

export function summaryText(total: number, missed: number): string {
  return `${total - missed} of ${total} goals reached, ${missed} missed.`;
}

/** The text of RESULTS.md after a run of some scenarios: theirs are replaced or added, and the others stay. */
export function updatedResults(old: string, { machine, sections, goals }: Findings): string {
  const [head = '', ...oldSections] = old.trimEnd().split(/\n(?=## )/);
  const note = `Measured on its own:\n\n${machine}`;
  const fresh = new Map(sections.map((section) => [titleOf(section), `${section}\n\n${note}\n`]));
  const kept = oldSections
    .filter((section) => titleOf(section) !== GOALS)
    .map((section) => {
      const title = titleOf(section);
      const replaced = fresh.get(title);
      fresh.delete(title);
      return replaced ?? section;
    });
  const oldGoals = oldSections.find((section) => titleOf(section) === GOALS) ?? '';
  return `${[head, goalsText(oldGoals, goals), ...kept, ...fresh.values()].map((part) => part.trimEnd()).join('\n\n')}\n`;
}

function titleOf(section: string): string {
  return section.split('\n', 1)[0]!;
}

/** The section of goals, with the rows of these goals replaced or added. */
function goalsText(old: string, goals: readonly Goal[]): string {
  const texts = new Set(goals.map(({ text }) => text));
  const cells = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const table = [...old.split('\n'), ...renderGoals(goals).split('\n')].filter((line) =>
    line.startsWith('| '),
  );
  const own = new Set(renderGoals(goals).split('\n'));
  const rows = table.filter((line) => own.has(line) || !texts.has(cells(line)[0]!)).map(cells);
  const [headers, ...all] = rows.filter(([first], index) => index === 0 || first !== rows[0]![0]);
  const missed = all.filter((row) => row[1] === verdict(false)).length;
  return `${GOALS}\n\n${renderTable({ title: 'Goals', headers: headers!, rows: all })}\n\n${summaryText(all.length, missed)}`;
}
