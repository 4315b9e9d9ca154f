import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openHub, taskIds } from './support/open-hub.ts';

test('a stream begins with how long to wait before coming back, and with a snapshot', async () => {
  const { connected } = await openHub({ retryMs: 1234 });
  const client = await connected();
  expect(client.status).toBe('200');
  expect(client.headers).toContain('Content-Type: text/event-stream');
  expect(client.headers).toContain('Cache-Control: no-cache');
  expect(client.events).toEqual([
    { id: expect.stringMatching(/^[0-9a-f]{12}-0$/), type: 'snapshot', data: { batches: [] } },
  ]);
});

test('events come in their order, each with an id of its own', async () => {
  const { connected, tell } = await openHub();
  const client = await connected();
  for (const id of ['a', 'b', 'c']) tell(id);
  await client.untilCount(4);
  expect(taskIds(client)).toEqual(['a', 'b', 'c']);
  expect(new Set(client.events.map(({ id }) => id)).size).toBe(4);
});

test('an event is written as text once for all, and what comes in one turn is one write of the same bytes', async () => {
  const { connected, hub, responses } = await openHub();
  const clients = [await connected(), await connected(), await connected()];
  const writes: unknown[] = [];
  for (const response of responses) {
    const write = response.write.bind(response) as (bytes: unknown) => boolean;
    response.write = ((bytes: unknown) => {
      writes.push(bytes);
      return write(bytes);
    }) as typeof response.write;
  }
  let timesWritten = 0;
  const at = {
    toJSON: () => {
      timesWritten++;
      return 1;
    },
  } as unknown as number;
  hub.publish('cleared', 'default', { batch: 'default', at });
  hub.publish('cleared', 'default', { batch: 'default', at: 2 });
  await Promise.all(clients.map((client) => client.untilCount(3)));
  expect(timesWritten).toBe(1);
  expect(writes).toHaveLength(3);
  expect(new Set(writes).size).toBe(1);
});

test('events that follow each other turn by turn are gathered for a moment', async () => {
  const { connected, responses, tell } = await openHub();
  const client = await connected();
  const [response] = responses;
  const write = response!.write.bind(response) as (bytes: unknown) => boolean;
  let writes = 0;
  response!.write = ((bytes: unknown) => {
    writes++;
    return write(bytes);
  }) as ServerResponse['write'];
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const ids = Array.from({ length: 300 }, (_, place) => `t${place}`);
  for (const id of ids) {
    tell(id);
    await new Promise((resolve) => setImmediate(resolve));
  }
  vi.advanceTimersByTime(1);
  await client.untilCount(1 + ids.length);
  expect(taskIds(client)).toEqual(ids);
  expect(writes).toBe(2);
});

test('nothing is written as text while nobody listens', async () => {
  const { connect, hub } = await openHub();
  let timesWritten = 0;
  const at = { toJSON: () => timesWritten++ } as unknown as number;
  hub.publish('cleared', 'default', { batch: 'default', at });
  await connect().untilCount(1);
  expect(timesWritten).toBe(0);
  expect(hub.counts().events).toBe(1);
});

test('the stream of a batch has the events of that batch only', async () => {
  const { connected, tell } = await openHub();
  const all = await connected('/');
  const one = await connected('/one%2Ftwo');
  tell('a', 'one/two');
  tell('b', 'other');
  tell('c', 'one/two');
  await all.untilCount(4);
  await one.untilCount(3);
  expect(taskIds(all)).toEqual(['a', 'b', 'c']);
  expect(taskIds(one)).toEqual(['a', 'c']);
});

test('a burst within one turn reaches everybody as a whole, however short the log is', async () => {
  const { connected, tell } = await openHub({ logSize: 16 });
  const client = await connected();
  const ids = Array.from({ length: 5000 }, (_, index) => `t${index}`);
  for (const id of ids) tell(id);
  await client.untilCount(5001);
  expect(taskIds(client)).toEqual(ids);
});

test('names may have any characters, in every way in which events are sent', async () => {
  const { connected, connect, tell } = await openHub();
  const all = await connected('/');
  const one = await connected('/b%C3%A4%F0%9F%98%80');
  const ids = ['plain', 'ä\n\r\u2028', '日本', '😀', 'plain again', '\ud800'];
  for (const id of ids) tell(id, 'bä😀');
  await all.untilCount(7);
  await one.untilCount(7);
  const later = connect('/', { lastEventId: all.events[2]!.id });
  await later.untilCount(4);
  expect(taskIds(all)).toEqual(ids);
  expect(taskIds(one)).toEqual(ids);
  expect(taskIds(later)).toEqual(ids.slice(2));
});

test('clients that come close together share one snapshot, and miss nothing that came after it', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let taken = 0;
  const { connect, tell } = await openHub({
    take: async () => {
      taken++;
      return { batches: [] };
    },
  });
  const first = connect();
  await first.untilCount(1);
  tell('a');
  const second = connect();
  await second.untilCount(2);
  expect(taken).toBe(1);
  expect(second.types()).toEqual(['snapshot', 'task']);
  expect(taskIds(second)).toEqual(['a']);
});

test('more streams than allowed are refused until one is closed', async () => {
  const { connect, connected, hub } = await openHub({ maxSubscribers: 2 });
  const first = await connected();
  await connected();
  const third = connect();
  await third.until(() => third.status !== '', 'an answer');
  expect(third.status).toBe('503');
  expect(hub.subscribers).toBe(2);
  first.cut();
  await expect.poll(() => hub.subscribers).toBe(1);
  await connected();
  expect(hub.subscribers).toBe(2);
});

test('a snapshot that cannot be taken is an error of the request, and no stream is left behind', async () => {
  const { connect, hub } = await openHub({
    take: () => {
      throw Object.assign(new Error('no store'), { code: 'STORE_CLOSED' });
    },
  });
  const client = connect();
  await client.until(() => client.status !== '', 'an answer');
  expect(client.status).toBe('503');
  expect(hub.subscribers).toBe(0);
});

test('signs of life carry the number of the last event, and are shown to nobody', async () => {
  const { connected, tell, hub } = await openHub({ heartbeatMs: 20 });
  const client = await connected('/quiet');
  tell('a', 'other');
  await client.until(() => client.lastEventId?.endsWith('-1') === true, 'the new number');
  expect(client.types()).toEqual(['snapshot']);
  expect(client.comments).toBeGreaterThan(0);
  expect(hub.counts().gaps).toBe(0);
});

test('at the end every stream is told so, and closed', async () => {
  const { connected, connect, hub } = await openHub();
  const clients = [await connected(), await connected('/one')];
  await hub.close('shutdown');
  for (const client of clients) {
    await client.ended();
    expect(client.events.at(-1)).toMatchObject({ type: 'end', data: { reason: 'shutdown' } });
  }
  expect(hub.subscribers).toBe(0);
  const late = connect();
  await late.until(() => late.status !== '', 'an answer');
  expect(late.status).toBe('503');
});

test('a stream ends when its client may not read any more', async () => {
  const { connected } = await openHub({ heartbeatMs: 20, request: { expiresAt: Date.now() - 1 } });
  const client = await connected();
  await client.ended();
  expect(client.events.at(-1)).toMatchObject({ type: 'end', data: { reason: 'expired' } });
});
