import { writeFileSync } from 'node:fs';
import { describeMachine } from './harness/machine.ts';
import { parseOptions } from './harness/options.ts';
import { renderGoals, renderReport } from './harness/report.ts';
import { measureCase } from './harness/sampling.ts';
import type { CaseResult } from './harness/scenario.ts';
import { findScenario, SCENARIOS } from './suite.ts';

const args = process.argv.slice(2);
const { isQuick, only, repeats, write } = parseOptions(args);
const scenarios = only.length === 0 ? SCENARIOS : only.map(findScenario);

const machine = `${describeMachine(args)}\n- Repeats: ${repeats}`;
console.log(`${machine}\n`);
const sections: string[] = [];
const goals = [];
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
const summary = `${goals.length - missed} of ${goals.length} goals reached, ${missed} missed.`;
console.log(`## Goals\n\n${renderGoals(goals)}\n\n${summary}`);

if (write) {
  const intro = `The last run of the suite. [README.md](README.md) says what is measured and how to read it.`;
  const text = ['# Results', intro, machine, '## Goals', renderGoals(goals), summary, ...sections].join(
    '\n\n',
  );
  writeFileSync(new URL('./RESULTS.md', import.meta.url), `${text}\n`);
}
