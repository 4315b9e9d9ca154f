import { runChild } from './child-process.ts';
import type { Case, CaseResult, Figures, Scenario } from './scenario.ts';
import { spreadOf } from './statistics.ts';

/**
 * Measures all contestants of a case, in rounds: each takes part once in each round, in a process of its own, and
 * each round begins with another one. A machine that becomes slower thus becomes slower for all of them.
 */
export async function measureCase(scenario: Scenario, work: Case, repeats: number): Promise<CaseResult> {
  const rounds = Math.min(repeats, work.maxRepeats ?? repeats);
  const samples = new Map<string, Figures[]>(work.contestants.map((contestant) => [contestant, []]));
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < work.contestants.length; turn++) {
      const contestant = work.contestants[(round + turn) % work.contestants.length]!;
      showProgress(`${scenario.name}, ${work.label}: round ${round + 1} of ${rounds}, ${contestant}`);
      samples.get(contestant)!.push(await runChild(scenario.name, contestant, work));
    }
  }
  showProgress('');
  return {
    work,
    figure: (contestant, name) => spreadOf(samples.get(contestant)!.map((figures) => figures[name]!)),
  };
}

function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
