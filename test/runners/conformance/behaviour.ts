import { expect } from 'vitest';
import type { Rig } from './rig.ts';

/** What every runner does, by the sentence that says so. */
export const BEHAVIOUR: Readonly<Record<string, (rig: Rig) => Promise<void>>> = {
  async 'gives back what a tool returns'(rig) {
    const outcome = await rig.outcome('double', { input: { value: 4 } });
    expect(outcome).toMatchObject({ status: 'completed', value: { doubled: 8 }, attempts: 1 });
  },

  async 'puts back a call that hit a limit, and uses no retry for it'(rig) {
    const outcome = await rig.outcome('hitLimitOnce', { input: { failures: rig.under.failures.href } });
    expect(outcome).toMatchObject({ status: 'completed', value: 2 });
    expect(rig.engine.statistics()).toMatchObject({ retries: 0, refusals: 1 });
    expect(rig.engine.quotas()).toContainEqual(expect.objectContaining({ scope: 'host:a' }));
  },

  async 'passes on the progress that a tool reports'(rig) {
    const handle = rig.submit('reportSteps');
    const seen: unknown[] = [];
    for await (const update of handle.progress()) {
      if (update.type === 'progress') seen.push([update.progress, update.step]);
    }
    expect(seen).toContainEqual([0.25, 'a quarter']);
    expect(seen).toContainEqual([0.75, 'more']);
    expect(await handle.wait()).toBe('reported');
  },

  async 'never starts a call that is cancelled while it is queued'(rig) {
    rig.engine.pause();
    const handle = rig.submit('exit');
    handle.cancel('changed my mind');
    rig.engine.resume();
    expect(await handle.outcome()).toMatchObject({
      status: 'cancelled',
      reason: 'changed my mind',
      attempts: 0,
    });
  },

  async 'refuses a call whose signal is aborted already'(rig) {
    const first = rig.submit('waitForSignal');
    await rig.step(first, 'waiting');
    first.cancel('first');
    const second = rig.submit('waitForSignal');
    second.cancel('second');
    expect(await first.outcome()).toMatchObject({ status: 'cancelled', reason: 'first' });
    expect(await second.outcome()).toMatchObject({ status: 'cancelled', reason: 'second' });
  },
};
