import { expect, test } from 'vitest';
import { openHub, taskIds } from './support/open-hub.ts';

test('a client that was cut off goes on where it was, without a snapshot', async () => {
  const { connected, connect, tell, hub } = await openHub();
  const client = await connected();
  tell('a');
  await client.untilCount(2);
  client.cut();
  for (const id of ['b', 'c']) tell(id);
  const again = connect('/', { lastEventId: client.lastEventId });
  await again.untilCount(2);
  tell('d');
  await again.untilCount(3);
  expect(again.types()).toEqual(['task', 'task', 'task']);
  expect(taskIds(again)).toEqual(['b', 'c', 'd']);
  expect(hub.counts()).toMatchObject({ resumed: 1, gaps: 0 });
});

test('a client of one batch goes on with the events of that batch', async () => {
  const { connected, connect, tell } = await openHub();
  const client = await connected('/one');
  client.cut();
  for (const [id, batch] of [
    ['a', 'one'],
    ['b', 'two'],
    ['c', 'one'],
  ] as const)
    tell(id, batch);
  const again = connect('/one', { lastEventId: client.lastEventId });
  await again.untilCount(2);
  expect(taskIds(again)).toEqual(['a', 'c']);
});

test('where events are gone, the client is told how many, and gets a snapshot', async () => {
  const { connected, connect, tell, hub } = await openHub({ logSize: 16 });
  const client = await connected();
  client.cut();
  await expect.poll(() => hub.subscribers).toBe(0);
  for (let index = 0; index < 100; index++) tell(`t${index}`);
  const again = connect('/', { lastEventId: client.lastEventId });
  await again.untilCount(2);
  expect(again.events).toEqual([
    { id: client.lastEventId, type: 'gap', data: { missed: 100 } },
    { id: expect.stringMatching(/-100$/), type: 'snapshot', data: { batches: [] } },
  ]);
  tell('next');
  await again.untilCount(3);
  expect(taskIds(again)).toEqual(['next']);
});

test.each([
  ['of another process', 'abcdefabcdef-3'],
  ['from the future', 'future'],
  ['that is nonsense', 'x'.repeat(2000)],
  ['that has a wrong number', 'wrong'],
])('an id %s gives a gap of unknown size and a snapshot', async (_, id) => {
  const { connected, connect, tell } = await openHub();
  tell('a');
  const boot = (await connected()).lastEventId!.split('-')[0];
  const lastEventId = id === 'future' ? `${boot}-999` : id === 'wrong' ? `${boot}-1e3` : id;
  const client = connect('/', { lastEventId });
  await client.untilCount(2);
  expect(client.types()).toEqual(['gap', 'snapshot']);
  expect(client.events[0]!.data).toEqual({ missed: null });
});

test('a client that knows everything hears nothing until something happens', async () => {
  const { connected, connect, tell, hub } = await openHub();
  const client = await connected();
  tell('a');
  await client.untilCount(2);
  const again = connect('/', { lastEventId: client.lastEventId });
  await expect.poll(() => hub.subscribers).toBe(2);
  tell('b');
  await again.untilCount(1);
  expect(taskIds(again)).toEqual(['b']);
});
