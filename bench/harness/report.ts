import { type Goal, verdict, worstText } from './goals.ts';
import type { Report } from './scenario.ts';
import { renderTable } from './table.ts';

export function renderReport(title: string, { tables, goals }: Report): string {
  const parts = tables.map((table) => `**${table.title}**\n\n${renderTable(table)}`);
  if (goals.length > 0) parts.push(renderGoals(goals));
  return [`## ${title}`, ...parts].join('\n\n');
}

/** All goals with their deciding figures, and how many are missed. */
export function renderGoals(goals: readonly Goal[]): string {
  return renderTable({
    title: 'Goals',
    headers: ['goal', 'verdict', 'reached', 'worst figure'],
    rows: goals.map((goal) => [
      goal.text,
      verdict(goal.passed),
      `${goal.reached} of ${goal.findings}`,
      worstText(goal),
    ]),
  });
}
