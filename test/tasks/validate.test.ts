import { describe, expect, test } from 'vitest';
import type { Feature } from '../../src/tasks/files/feature.ts';
import { parseFeature } from '../../src/tasks/files/parse-feature.ts';
import { validateBatch, validateFeature } from '../../src/tasks/plan/validate.ts';
import { at, feature } from './support/feature.ts';

const problems = (one: Feature) =>
  validateFeature(one).map(({ code, file, text }) => `${code} ${file}: ${text}`);

describe('validation', () => {
  test('has nothing to say of a right feature', () => {
    const right = feature(
      {
        '01': { id: 'auth-01', seq: '01', status: 'completed', deliverables: ['a.ts'] },
        '02': {
          depends_on: ['01'],
          deliverables: ['a.ts'],
          verification: ['npm test', { type: 'file_exists', path: 'a' }],
        },
        '100': { depends_on: ['02'], deliverables: ['a.ts'] },
      },
      { status: 'active', subtask_count: 3, completed_count: 1 },
    );
    expect(validateFeature(right)).toEqual([]);
  });

  test('finds wrong counts, ids and statuses, each with what to do', () => {
    const wrong = feature(
      { '01': { id: 'auth-1', status: 'finished' } },
      { id: 'other', status: 'completed', subtask_count: 3, completed_count: 2 },
    );
    expect(validateFeature(wrong)).toEqual([
      {
        code: 'id',
        severity: 'error',
        file: 'auth/subtask_01.json',
        text: '"id" is "auth-1".',
        remedy: 'Write "auth-01".',
      },
      expect.objectContaining({
        code: 'status',
        remedy: 'Write one of pending, in_progress, completed, blocked.',
      }),
      expect.objectContaining({ code: 'id', file: 'auth/task.json', remedy: 'Write "auth".' }),
      expect.objectContaining({ code: 'count', text: '"subtask_count" is 3, but it is 1.' }),
      expect.objectContaining({ code: 'count', text: '"completed_count" is 2, but it is 0.' }),
      expect.objectContaining({ code: 'status', file: 'auth/task.json', remedy: 'Write "active".' }),
    ]);
  });

  test('finds numbers that two have, and those that differ from the name of the file', () => {
    const wrong = feature({ '01': {}, '1': {}, '02': { seq: '01' }, '03': { seq: '04' }, x: {} });
    expect(problems(wrong)).toEqual([
      'duplicate-sequence auth/subtask_1.json: subtask_01.json is subtask 01, too.',
      'sequence auth/subtask_x.json: its name holds no number.',
      'duplicate-sequence auth/subtask_02.json: "seq" is "01", its name says 02, and subtask_01.json is 01 already.',
      'sequence auth/subtask_03.json: "seq" is "04", its name says 03.',
    ]);
  });

  test('finds dependencies that are not there, and circles with their path', () => {
    const wrong = feature({
      '01': { depends_on: ['03'] },
      '02': { depends_on: ['01', '9'] },
      '03': { depends_on: ['02'] },
      '04': { depends_on: ['04'] },
    });
    expect(problems(wrong)).toEqual([
      'missing-dependency auth/subtask_02.json: "depends_on" has "09", and there is no such subtask.',
      'cycle auth/subtask_01.json: the dependencies form a cycle: 01 → 03 → 02 → 01 (each waits for the next).',
      'cycle auth/subtask_04.json: subtask 04 depends on itself.',
    ]);
  });

  test('warns of what was completed before what it depends on', () => {
    const [problem] = validateFeature(
      feature({ '01': {}, '02': { status: 'completed', depends_on: ['01'] } }),
    );
    expect(problem).toMatchObject({ code: 'order', severity: 'warning' });
  });

  test('finds common deliverables of what could run at the same time, and only of that', () => {
    const both = { deliverables: ['src/**'] };
    const wrong = feature({
      '01': both,
      '02': { deliverables: ['src/a.ts'] },
      '03': { ...both, depends_on: ['01', '02'] },
      '04': { ...both, parallel: false },
      '05': { ...both, status: 'completed' },
    });
    expect(problems(wrong)).toEqual([
      'overlap auth/subtask_02.json: its deliverable "src/a.ts" may be the same file as "src/**" of subtask 01.',
    ]);
  });

  test('finds deliverables outside the project, and checks that are none', () => {
    const wrong = feature({
      '01': {
        deliverables: ['/etc/passwd', '../x', ' ', 'a/../../x', 'C:\\x'],
        verification: [
          { type: 'command' },
          { type: 'file_exist', path: 'a' },
          { type: 'command', command: 'x', timeout_seconds: 0 },
        ],
      },
    });
    expect(validateFeature(wrong).map(({ code }) => code)).toEqual([
      ...Array(3).fill('verification'),
      ...Array(5).fill('deliverable'),
    ]);
  });

  test('names a missing task.json and an empty feature', () => {
    expect(problems(parseFeature('auth', new Map([['subtask_01.json', '{}']])))).toEqual([
      'missing-task-file auth/task.json: there is no such file.',
    ]);
    expect(problems(feature({}))).toEqual(['no-subtasks auth/task.json: the feature has no subtasks.']);
  });
});

describe('a batch', () => {
  const all = feature({
    '01': { deliverables: ['a.ts'] },
    '02': { depends_on: ['01'] },
    '03': { depends_on: ['02'] },
    '04': { parallel: false },
    '05': { deliverables: ['*.ts'] },
    '06': { status: 'in_progress' },
  });
  const batch = (...seqs: string[]) =>
    validateBatch(all, seqs, at()).map(({ code, text }) => `${code}: ${text}`);

  test('that is safe has no problems', () => {
    expect(batch('01')).toEqual([]);
    expect(batch('04')).toEqual([]);
  });

  test('has no dependencies inside it, directly or through others, and none that are open', () => {
    expect(batch('01', '03')).toEqual([
      'inside-batch: subtask 03 waits for 01 of the same batch.',
      'open-dependency: subtask 03 depends on 02, which is not completed.',
    ]);
  });

  test('has nothing that must run alone, shares no deliverables, and is open', () => {
    expect(batch('01', '04', '05', '6')).toEqual([
      'not-parallel: subtask 04 has not "parallel": true, and the batch has 4 subtasks.',
      'not-open: subtask 06 is in_progress.',
      'overlap: its deliverable "*.ts" may be the same file as "a.ts" of subtask 01.',
    ]);
  });

  test('of unknown subtasks is an error with the nearest', () => {
    expect(() => batch('07')).toThrow('did you mean 06?');
  });
});
