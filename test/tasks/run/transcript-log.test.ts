import { expect, it } from 'vitest';
import { readLog } from '../../../src/batch/log-page.ts';
import { TranscriptWriter, transcriptLog } from '../../../src/tasks/run/transcript.ts';
import { project } from '../support/feature.ts';

it('is the transcript of an agent in lines, read from any place while it grows', async () => {
  const folder = project();
  const logged: string[] = [];
  const open = (attempt: number) =>
    TranscriptWriter.open(
      folder,
      'auth',
      '01',
      attempt,
      (text) => text,
      (text) => void logged.push(text),
    );
  const first = await open(1);
  first.add({ type: 'text', text: 'hello\nworld \u001b[31mred' });
  first.add({ type: 'stderr', text: 'a warning' });
  const log = transcriptLog(folder, 'auth', '01');
  const page = await readLog(log, { limit: 10 });
  expect(page).toMatchObject({ attempt: 1, attempts: [1], firstLine: 0, endLine: 3, next: 3 });
  expect(page.lines.map(({ stream, text }) => `${stream}:${text}`)).toEqual([
    'log:  hello',
    'log:  world red',
    'stderr:a warning',
  ]);
  for (let count = 0; count < 5000; count++)
    first.add({ type: 'text', text: `line ${count} ${'x'.repeat(100)}` });
  const later = await readLog(log, { from: 4000, limit: 2 });
  expect(later).toMatchObject({ endLine: 5003, next: 4002 });
  expect(later.lines.map(({ line, text }) => [line, text.trim().slice(0, 9)])).toEqual([
    [4000, 'line 3997'],
    [4001, 'line 3998'],
  ]);
  const found = await readLog(log, { search: 'LINE 4999', limit: 10 });
  expect(found.lines.map(({ line }) => line)).toEqual([5002]);
  first.close();
  // The log of the task has the same.
  expect(logged.slice(0, 2)).toEqual(['  hello\n  world red', '! a warning']);

  const second = await open(2);
  second.add({ type: 'text', text: 'again' });
  second.close();
  expect(await readLog(log, { limit: 10 })).toMatchObject({ attempt: 2, attempts: [1, 2], endLine: 1 });
  await expect(readLog(log, { attempt: 3, limit: 1 })).rejects.toMatchObject({ code: 'INVALID_VALUE' });
});
