import { withSpread } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import type { Case, CaseResult, Figures, Scenario } from '../harness/scenario.ts';
import type { Table } from '../harness/table.ts';
import { measureMemory, measureRecovery, measureStatus } from './large-batch.ts';

const COUNT = 100_000;
const RESULT_BYTES = 1024;
/** What all results take together, in MB. */
const RESULTS_MB = (COUNT * RESULT_BYTES) / 2 ** 20;
const tasks = `${COUNT.toLocaleString('en-US')} tasks`;

const MEASURES: Readonly<Record<string, () => Promise<Figures>>> = {
  status: () => measureStatus(COUNT),
  'results of 1 KB': () => measureMemory(COUNT, RESULT_BYTES),
  'results of 1 byte': () => measureMemory(COUNT, 1),
  'recovery, all were running': () => measureRecovery(COUNT),
};

const STATUS: Case = { label: `Status of ${tasks}`, contestants: ['status'] };
const MEMORY: Case = { label: `Memory of ${tasks}`, contestants: ['results of 1 KB', 'results of 1 byte'] };
const RECOVERY: Case = { label: `Recovery of ${tasks}`, contestants: ['recovery, all were running'] };

export const largeBatch: Scenario = {
  name: 'large-batch',
  title: 'A batch of 100,000 in the store',
  cases: () => [STATUS, MEMORY, RECOVERY],
  measure: (name) => MEASURES[name]!(),
  report(results) {
    const [status, memory, recovery] = results as [CaseResult, CaseResult, CaseResult];
    const statusMs = status.figure('status', 'p50Ms').median;
    const recoveryMs = recovery.figure('recovery, all were running', 'ms').median;
    const grown = memory.figure('results of 1 KB', 'mostMb').median;
    const share = (grown - memory.figure('results of 1 byte', 'mostMb').median) / RESULTS_MB;
    return {
      tables: [
        tableOf(status, { p50Ms: ' ms', p99Ms: ' ms', longestMs: ' ms' }),
        tableOf(memory, { mostMb: ' MB', afterMb: ' MB' }),
        tableOf(recovery, { ms: ' ms' }),
      ],
      goals: [
        atMost('Status of 100,000 ≤ 5 ms', 5, ' ms', [{ figure: statusMs, where: STATUS.label }]),
        atMost('Memory: of 100 MB of results at most a tenth is held', 0.1, ' ×', [
          { figure: share, where: MEMORY.label },
        ]),
        atMost('Recovery of 100,000 ≤ 3 s', 3000, ' ms', [{ figure: recoveryMs, where: RECOVERY.label }]),
      ],
    };
  },
};

function tableOf({ work, figure }: CaseResult, units: Readonly<Record<string, string>>): Table {
  const names = Object.keys(units);
  return {
    title: work.label,
    headers: ['', ...names],
    rows: work.contestants.map((contestant) => [
      contestant,
      ...names.map((name) => withSpread(figure(contestant, name), units[name]!)),
    ]),
  };
}
