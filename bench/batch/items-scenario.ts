import { withSpread } from '../harness/format.ts';
import { atMost } from '../harness/goals.ts';
import type { Case, CaseResult, Figures, Scenario } from '../harness/scenario.ts';
import {
  chain,
  computed,
  type Form,
  forEach,
  loop,
  measureMemory,
  measureTime,
  program,
  writtenOut,
} from './items.ts';

const COUNT = 100_000;
const label = COUNT.toLocaleString('en-US');
const FORMS: Readonly<Record<string, Form>> = {
  'written out': writtenOut,
  for_each: forEach,
  'for_each, computed': computed,
};

const TIME: Case = { label: `Time of ${label}`, contestants: Object.keys(FORMS) };
const CALLS = 2000;
const CALL_FORMS: Readonly<Record<string, Form>> = {
  'tasks at once': writtenOut,
  'calls of a program at once': program,
  'tasks one after another': chain,
  'calls one after another': loop,
};
const PROGRAMS: Case = {
  label: `Time of ${CALLS.toLocaleString('en-US')}`,
  contestants: Object.keys(CALL_FORMS),
};
/** Few enough to be in memory all at once: of many tasks, only a part is. */
const QUEUED = 10_000;
const MEMORY: Case = {
  label: `Memory of ${QUEUED.toLocaleString('en-US')} queued`,
  contestants: ['written out', 'for_each'].map((name) => `${name}, queued`),
};

export const items: Scenario = {
  name: 'items',
  title: 'Items of a for_each and calls of a program next to the same tasks written out',
  cases: () => [TIME, MEMORY, PROGRAMS],
  measure: (name): Promise<Figures> => {
    const calls = CALL_FORMS[name];
    if (calls !== undefined) return measureTime(calls, CALLS);
    const form = FORMS[name];
    return form === undefined
      ? measureMemory(FORMS[name.replace(', queued', '')]!, QUEUED)
      : measureTime(form, COUNT);
  },
  report(results) {
    const [time, memory, programs] = results as [CaseResult, CaseResult, CaseResult];
    const extraMs = (calls: string, tasks: string) =>
      (programs.figure(calls, 'ms').median - programs.figure(tasks, 'ms').median) / CALLS;
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
          title: programs.work.label,
          headers: ['', 'time', 'processor time of all threads'],
          rows: programs.work.contestants.map((name) => [
            name,
            withSpread(programs.figure(name, 'ms'), ' ms'),
            withSpread(programs.figure(name, 'cpuMs'), ' ms'),
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
        atMost('A call of a program ≤ 0.5 ms more than a task', 0.5, ' ms', [
          { figure: extraMs('calls of a program at once', 'tasks at once'), where: 'at once' },
          {
            figure: extraMs('calls one after another', 'tasks one after another'),
            where: 'one after another',
          },
        ]),
        atMost('Memory: a queued item ≤ 1.5 × a task written out', 1.5, ' ×', [
          { figure: bytes('for_each') / bytes('written out'), where: memory.work.label },
        ]),
      ],
    };
  },
};
