import { describe, expect, test } from 'vitest';
import type { Feature } from '../../../src/tasks/files/feature.ts';
import { parseFeature } from '../../../src/tasks/files/parse-feature.ts';
import { validateFeature as validateAll, validateBatch } from '../../../src/tasks/plan/validate.ts';
import { at, feature } from '../support/feature.ts';

/** Without the warnings that these small features all deserve. */
const validateFeature = (one: Feature) => validateAll(one).filter(({ code }) => code !== 'unverifiable');
const problems = (one: Feature) => validateFeature(one).map(({ code, file }) => [code, file]);

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

  test('warns of open subtasks that nothing can verify, and of forced ones', () => {
    const vague = feature({
      '01': {},
      '02': { acceptance_criteria: ['It works'] },
      '03': { status: 'completed', forced: { at: 'x', in_spite_of: ['a does not exist'] } },
      '04': { status: 'completed' },
      '05': { deliverables: ['a'] },
    });
    const found = validateAll(vague).filter(({ severity }) => severity === 'warning');
    expect(found.map(({ code, file }) => [code, file])).toEqual([
      ['unverifiable', 'auth/subtask_01.json'],
      ['unverifiable', 'auth/subtask_02.json'],
      ['forced', 'auth/subtask_03.json'],
    ]);
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
        text: expect.stringContaining('"auth-1"'),
        remedy: expect.stringContaining('"auth-01"'),
      },
      expect.objectContaining({
        code: 'status',
        remedy: expect.stringContaining('pending, in_progress, completed, blocked'),
      }),
      expect.objectContaining({
        code: 'id',
        file: 'auth/task.json',
        remedy: expect.stringContaining('"auth"'),
      }),
      expect.objectContaining({ code: 'count', text: expect.stringMatching(/"subtask_count" .*3.*1/) }),
      expect.objectContaining({ code: 'count', text: expect.stringMatching(/"completed_count" .*2.*0/) }),
      expect.objectContaining({
        code: 'status',
        file: 'auth/task.json',
        remedy: expect.stringContaining('"active"'),
      }),
    ]);
  });

  test('finds numbers that two have, and those that differ from the name of the file', () => {
    const wrong = feature({ '01': {}, '1': {}, '02': { seq: '01' }, '03': { seq: '04' }, x: {} });
    expect(problems(wrong)).toEqual([
      ['duplicate-sequence', 'auth/subtask_1.json'],
      ['sequence', 'auth/subtask_x.json'],
      ['duplicate-sequence', 'auth/subtask_02.json'],
      ['sequence', 'auth/subtask_03.json'],
    ]);
  });

  test('finds dependencies that are not there, and circles with their path', () => {
    const wrong = feature({
      '01': { depends_on: ['03'] },
      '02': { depends_on: ['01', '9'] },
      '03': { depends_on: ['02'] },
      '04': { depends_on: ['04'] },
    });
    const found = validateFeature(wrong);
    expect(found).toMatchObject([
      { code: 'missing-dependency', file: 'auth/subtask_02.json' },
      { code: 'cycle', file: 'auth/subtask_01.json' },
      { code: 'cycle', file: 'auth/subtask_04.json' },
    ]);
    expect(found[0]!.text).toContain('"09"');
    expect(found[1]!.text).toContain('01 → 03 → 02 → 01');
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
    expect(validateFeature(wrong)).toMatchObject([
      {
        code: 'overlap',
        file: 'auth/subtask_02.json',
        text: expect.stringMatching(/"src\/a\.ts".*"src\/\*\*".* 01/),
      },
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
      ['missing-task-file', 'auth/task.json'],
    ]);
    expect(problems(feature({}))).toEqual([['no-subtasks', 'auth/task.json']]);
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
    validateBatch(all, seqs, at()).map(({ code, file }) => [code, file.slice('auth/subtask_'.length, -5)]);

  test('that is safe has no problems', () => {
    expect(batch('01')).toEqual([]);
    expect(batch('04')).toEqual([]);
  });

  test('has no dependencies inside it, directly or through others, and none that are open', () => {
    expect(batch('01', '03')).toEqual([
      ['inside-batch', '03'],
      ['open-dependency', '03'],
    ]);
  });

  test('has nothing that must run alone, shares no deliverables, and is open', () => {
    expect(batch('01', '04', '05', '6')).toEqual([
      ['not-parallel', '04'],
      ['not-open', '06'],
      ['overlap', '05'],
    ]);
  });

  test('of unknown subtasks is an error with the nearest', () => {
    expect(() => batch('07')).toThrow(
      expect.objectContaining({
        code: 'UNKNOWN_SUBTASK',
        details: expect.objectContaining({ nearest: '06' }),
      }),
    );
  });
});
