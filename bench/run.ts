import { readFileSync, writeFileSync } from 'node:fs';
import type { Goal } from './harness/goals.ts';
import { describeMachine } from './harness/machine.ts';
import { parseOptions } from './harness/options.ts';
import { renderGoals, renderReport } from './harness/report.ts';
import { summaryText, updatedResults, wholeResults } from './harness/results-file.ts';
import { measureCase } from './harness/sampling.ts';
import type { CaseResult } from './harness/scenario.ts';
import { findScenario, SCENARIOS } from './suite.ts';

const args = process.argv.slice(2);
const { isQuick, only, repeats, write } = parseOptions(args);
const scenarios = only.length === 0 ? SCENARIOS : only.map(findScenario);

const machine = `${describeMachine(args)}\n- Repeats: ${repeats}`;
console.log(`${machine}\n`);
const sections: string[] = [];
const goals: Goal[] = [];
for (const scenario of scenarios) {
  const results: CaseResult[] = [];
  for (const work of scenario.cases(isQuick)) results.push(await measureCase(scenario, work, repeats));
  const report = scenario.report(results);
  const section = renderReport(scenario.title, report);
  console.log(`${section}\n`);
  sections.push(section);
  goals.push(...report.goals);
}

const missed = goals.filter((goal) => !goal.passed).length;
console.log(`## Goals\n\n${renderGoals(goals)}\n\n${summaryText(goals.length, missed)}`);

if (write) {
  const file = new URL('./RESULTS.md', import.meta.url);
  const findings = { machine, sections, goals };
  writeFileSync(
    file,
    only.length === 0 ? wholeResults(findings) : updatedResults(readFileSync(file, 'utf8'), findings),
  );
}
