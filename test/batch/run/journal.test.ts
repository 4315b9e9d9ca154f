import { expect, it } from 'vitest';
import { RunJournal } from '../../../src/batch/run/journal.ts';
import { done, failed, opened, statuses, tasks } from '../../store/support/store.ts';

it('keeps what completes in the same turn as a task that cannot be written, and then writes nothing more', async () => {
  const store = await opened();
  await store.addTasks('b', tasks(4));
  await store.ended('b', 2, failed, 1);
  const problems: unknown[] = [];
  const journal = new RunJournal(store, 'b', (error) => problems.push(error));
  journal.startedSoon(1, 5);
  const written = [1, 2, 3].map((seq) => journal.completed(seq, `${seq}`, 1));
  await expect(Promise.all(written)).rejects.toMatchObject({ code: 'TASK_SETTLED' });
  expect(problems).toMatchObject([{ code: 'TASK_SETTLED' }]);
  await expect(journal.completed(4, '4', 1)).rejects.toMatchObject({ code: 'TASK_SETTLED' });
  await expect(journal.ended(4, done())).rejects.toMatchObject({ code: 'TASK_SETTLED' });
  expect(await statuses(store, 'b')).toEqual({ t1: 'completed', t2: 'failed', t3: 'completed', t4: 'open' });
  expect(await store.task('b', 't1')).toMatchObject({ attempts: 1, startedAt: 5 });
});
