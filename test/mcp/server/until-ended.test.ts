import { expect, test } from 'vitest';
import { BatchExecutor } from '../../../src/batch/executor/batch-executor.ts';
import { waitForEnd } from '../../../src/mcp/server/wait-for-end.ts';
import { openStore } from '../../../src/store/sqlite-store.ts';
import { HeldCalls, openRig } from '../../batch/support/rig.ts';
import { backendOf } from './support/mcp.ts';

test('a store that cannot be read any more fails the call that waits, and not the process', async () => {
  const held = new HeldCalls();
  const rig = await openRig([held.tool()]);
  await rig.ask('add', { function: 'held', params: { key: 'k' } });
  await rig.ask('start');
  await held.started('k');
  const store = await openStore(rig.file);
  const executor = new BatchExecutor({ coordinator: rig.coordinator, store });
  const backend = backendOf({ ...rig, store, executor });
  const call = {
    backend,
    profile: 'default' as const,
    signal: new AbortController().signal,
    report: undefined,
    log: () => undefined,
  };
  const refused = expect(waitForEnd(call, 'default', 60)).rejects.toThrow();
  await store.close();
  await refused;
  held.finish('k');
});
