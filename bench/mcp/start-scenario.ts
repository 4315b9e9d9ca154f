import { times, withSpread } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import type { Case, Scenario } from '../harness/scenario.ts';
import { spreadOf } from '../harness/statistics.ts';
import { firstAnswerMs } from './first-answer.ts';
import { DOWNSTREAM_PROGRAM, volleyProgram } from './programs.ts';

interface StartCase extends Case {
  readonly starts: number;
}

const VOLLEY = 'volley mcp';
const MINIMAL = 'a minimal server on the same SDK';
const contestants = [VOLLEY, MINIMAL];
/** The first starts also fill the caches of the file system. */
const WARM_UP_STARTS = 2;

/** From the start of the program to its answer to the first request. */
export const mcpStart: Scenario<StartCase> = {
  name: 'mcp-start',
  title: 'The start of an MCP server',
  cases: (isQuick) => [{ label: 'until its first answer', contestants, starts: isQuick ? 5 : 15 }],
  async measure(name, { starts }) {
    const volley = volleyProgram();
    const program = name === VOLLEY ? volley.program : DOWNSTREAM_PROGRAM;
    const taken: number[] = [];
    for (let start = -WARM_UP_STARTS; start < starts; start++) {
      const ms = await firstAnswerMs(program);
      if (start >= 0) taken.push(ms);
    }
    volley.remove();
    return { medianMs: spreadOf(taken).median };
  },
  report([result]) {
    const { work, figure } = result!;
    const ratio = figure(VOLLEY, 'medianMs').median / figure(MINIMAL, 'medianMs').median;
    return {
      tables: [
        {
          title: work.label,
          headers: ['contestant', 'milliseconds', 'of a minimal server'],
          rows: contestants.map((name) => {
            const spread = figure(name, 'medianMs');
            return [name, withSpread(spread, ''), times(spread.median / figure(MINIMAL, 'medianMs').median)];
          }),
        },
      ],
      goals: [
        atMost('MCP: first answer of volley mcp ≤ 1.5 × a minimal server', 1.5, ' ×', [
          { figure: ratio, where: work.label },
        ]),
      ],
    };
  },
};
