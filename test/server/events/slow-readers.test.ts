import { expect, test } from 'vitest';
import { type HubRig, openHub, taskIds } from './support/open-hub.ts';
import type { SseClient } from './support/sse-client.ts';

const LIMIT = 16 * 1024;
const STEP = 'x'.repeat(1000);

/** Publishes until the stopped client is behind, giving everybody else time to read. */
async function fallBehind(
  { tell, hub, responses }: HubRig,
  stopped: SseClient,
  most = 50_000,
): Promise<number> {
  const response = responses.at(-1)!;
  stopped.socket.pause();
  let count = 0;
  for (; count < most && hub.counts().lag === 0; count++) {
    tell(`t${count}`, 'default', STEP);
    if (count % 10 === 9) await new Promise((resolve) => setImmediate(resolve));
    // Its own bound, and what was handed out when it was passed.
    expect(response.writableLength).toBeLessThan(LIMIT + 512 * 1200);
  }
  expect(hub.counts().lag).toBeGreaterThan(0);
  return count;
}

test('a client that stops reading costs bounded memory, and goes on without a gap if the log has the rest', async () => {
  const rig = await openHub({ maxBufferedBytes: LIMIT, logSize: 2 ** 17 });
  const other = await rig.connected();
  const slow = await rig.connected();
  const count = await fallBehind(rig, slow);
  const buffered = rig.responses.at(-1)!.writableLength;
  for (let index = 0; index < 1000; index++) rig.tell(`later${index}`, 'default', STEP);
  await other.untilCount(1 + count + 1000);
  expect(rig.responses.at(-1)!.writableLength).toBeLessThanOrEqual(buffered);
  slow.socket.resume();
  await slow.untilCount(1 + count + 1000);
  expect(taskIds(slow)).toEqual(taskIds(other));
  expect(rig.hub.counts()).toMatchObject({ gaps: 0, lag: 0 });
});

test('a client that was behind for too long is told how many events it missed, and gets a snapshot', async () => {
  const rig = await openHub({ maxBufferedBytes: LIMIT, logSize: 64 });
  const other = await rig.connected();
  const slow = await rig.connected();
  let count = await fallBehind(rig, slow);
  for (let round = 0; round < 10; round++) {
    for (let index = 0; index < 20; index++) rig.tell(`t${count++}`);
    await other.untilCount(1 + count);
  }
  slow.socket.resume();
  await slow.until(() => slow.types().includes('gap'), 'the gap');
  rig.tell('last');
  await slow.until(() => taskIds(slow).includes('last'), 'the last event');
  const types = slow.types();
  const at = types.indexOf('gap');
  expect(types[at + 1]).toBe('snapshot');
  const { missed } = slow.events[at]!.data as { missed: number };
  const seen = types.filter((type) => type === 'task').length;
  expect(seen + missed).toBe(count + 1);
  expect(rig.hub.counts()).toMatchObject({ gaps: 1, lag: 0 });
});

test('what is gathered while a client skips ahead comes to it once, behind its snapshot', async () => {
  const rig = await openHub({ maxBufferedBytes: LIMIT, logSize: 64 });
  const slow = await rig.connected();
  await fallBehind(rig, slow);
  for (let index = 0; index < 200; index++) rig.tell(`t${index}`);
  // It has room again, and at that moment something happens.
  rig.responses.at(-1)!.prependOnceListener('drain', () => rig.tell('gathered'));
  slow.socket.resume();
  await slow.until(() => slow.types().includes('gap'), 'the gap');
  rig.tell('last');
  await slow.until(() => taskIds(slow).includes('last'), 'the last event');
  const numbers = slow.events
    .slice(slow.types().indexOf('gap') + 1)
    .map(({ id }) => Number(id!.split('-')[1]));
  expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + index));
});

test('a client that reads nothing at all is cut off after a while', async () => {
  const rig = await openHub({ maxBufferedBytes: LIMIT, heartbeatMs: 20, stalledMs: 50 });
  const slow = await rig.connected();
  await fallBehind(rig, slow);
  await expect.poll(() => rig.hub.subscribers).toBe(0);
  expect(rig.hub.counts().stalled).toBe(1);
});

test('the server can stop although clients do not read', async () => {
  const rig = await openHub({ maxBufferedBytes: LIMIT });
  const slow = await rig.connected();
  await fallBehind(rig, slow);
  await rig.hub.close('shutdown');
  expect(rig.hub.subscribers).toBe(0);
});
