import { expect, test } from 'vitest';
import { type LogOptions, openLog } from '../../../src/server/log/log.ts';

function written(options: LogOptions, ...lines: Parameters<ReturnType<typeof openLog>>[]): string[] {
  const out: string[] = [];
  const log = openLog({ ...options, write: (line) => out.push(line) });
  for (const line of lines) log(...line);
  return out;
}

test('a line is a JSON object with time, level, event and facts', () => {
  const [line] = written({ format: 'json' }, [
    'info',
    'audit',
    { who: 'ci', status: 200, ok: true, none: undefined },
  ]);
  expect(line).toMatch(/\n$/);
  expect(JSON.parse(line!)).toEqual({
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    level: 'info',
    event: 'audit',
    who: 'ci',
    status: 200,
    ok: true,
  });
});

test('or a text for people', () => {
  const [line] = written({}, ['warn', 'audit', { who: 'ci', route: '/v1/batches/{batch}', ms: 3 }]);
  expect(line).toMatch(/^\S+Z WARN {2}audit who=ci route="\/v1\/batches\/\{batch\}" ms=3\n$/);
});

test('less important lines than asked for are not written', () => {
  const lines = [
    ['debug', 'a'],
    ['info', 'b'],
    ['warn', 'c'],
    ['error', 'd'],
  ] as const;
  expect(written({ level: 'warn' }, ...lines.map((line) => [...line] as [never, string]))).toHaveLength(2);
  expect(written({ level: 'silent' }, ...lines.map((line) => [...line] as [never, string]))).toHaveLength(0);
});

test('no value can begin a line or a field of its own, or be endless', () => {
  const fields = { name: 'x\n2026 ERROR fake', other: 'a status=200', long: 'y'.repeat(10_000) };
  for (const format of ['json', 'text'] as const) {
    const [line] = written({ format }, ['info', 'audit', fields]);
    expect(line!.split('\n')).toHaveLength(2);
    expect(line!.length).toBeLessThan(3000);
  }
  expect(written({}, ['info', 'audit', fields])[0]).toContain('other="a status=200"');
});

test('facts cannot replace what the line itself says', () => {
  const [line] = written({ format: 'json' }, ['info', 'audit', { level: 'error', event: 'other', time: 1 }]);
  expect(JSON.parse(line!)).toMatchObject({
    level: 'info',
    event: 'audit',
    time: expect.stringMatching(/Z$/),
  });
});

test('secrets are not written: by their names, and by what the redactor knows', () => {
  const redact = (text: string) => text.replaceAll('hidden', '***');
  const fields = {
    authorization: 'Bearer abc',
    api_key: 'abc',
    error: new Error('with hidden words'),
    list: ['hidden'],
  };
  const [line] = written({ redact }, ['error', 'failed', fields]);
  expect(line).not.toMatch(/abc|hidden/);
  expect(line).toContain('with *** words');
});
