import { withSpread } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import type { Case, CaseResult, Figures, Scenario } from '../harness/scenario.ts';
import { computed, type Form, forEach, measureMemory, measureTime, writtenOut } from './items.ts';

const COUNT = 100_000;
const label = COUNT.toLocaleString('en-US');
const FORMS: Readonly<Record<string, Form>> = {
  'written out': writtenOut,
  for_each: forEach,
  'for_each, computed': computed,
};

const TIME: Case = { label: `Time of ${label}`, contestants: Object.keys(FORMS) };
const MEMORY: Case = {
  label: `Memory of ${label} queued`,
  contestants: ['written out', 'for_each'].map((name) => `${name}, queued`),
};

export const items: Scenario = {
  name: 'items',
  title: 'Items of a for_each next to the same tasks written out',
  cases: () => [TIME, MEMORY],
  measure: (name): Promise<Figures> => {
    const form = FORMS[name];
    return form === undefined
      ? measureMemory(FORMS[name.replace(', queued', '')]!, COUNT)
      : measureTime(form, COUNT);
  },
  report(results) {
    const [time, memory] = results as [CaseResult, CaseResult];
    const ms = (name: string) => time.figure(name, 'ms').median;
    const extraUs = ((ms('for_each') - ms('written out')) * 1000) / COUNT;
    const bytes = (name: string) => memory.figure(`${name}, queued`, 'bytesPerTask').median;
    return {
      tables: [
        {
          title: time.work.label,
          headers: ['', 'time', 'processor time of all threads', 'longest pause of the event loop'],
          rows: time.work.contestants.map((name) => [
            name,
            withSpread(time.figure(name, 'ms'), ' ms'),
            withSpread(time.figure(name, 'cpuMs'), ' ms'),
            withSpread(time.figure(name, 'longestGapMs'), ' ms'),
          ]),
        },
        {
          title: memory.work.label,
          headers: ['', 'bytes per task'],
          rows: memory.work.contestants.map((name) => [
            name,
            withSpread(memory.figure(name, 'bytesPerTask'), ''),
          ]),
        },
      ],
      goals: [
        atMost('An item of a for_each ≤ 10 µs more than a task written out', 10, ' µs', [
          { figure: extraUs, where: time.work.label },
        ]),
        atMost('Memory: a queued item ≤ 1.5 × a task written out', 1.5, ' ×', [
          { figure: bytes('for_each') / bytes('written out'), where: memory.work.label },
        ]),
      ],
    };
  },
};
