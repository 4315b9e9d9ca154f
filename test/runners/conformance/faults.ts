import { expect } from 'vitest';
import type { Outcome } from '../../../src/index.ts';
import type { Fault } from '../../../src/runners/containment.ts';
import type { Rig } from './rig.ts';

/** What each fault must come to. A fault without its case does not compile. */
export const FAULTS: Readonly<Record<Fault, (rig: Rig) => Promise<void>>> = {
  async error(rig) {
    const { error } = failed(await rig.outcome('throwError'), 'error');
    expect(error).toBeInstanceOf(RangeError);
    expect(error).toMatchObject({ name: 'RangeError', message: 'the tool does not like this' });
    expect((error as Error).stack).toMatch(/throwError[^\n]*behaviours\.mjs:\d+/);
  },

  async typedError(rig) {
    const { error } = failed(
      await rig.outcome('throwFailure', { input: { failures: rig.under.failures.href } }),
      'budget',
    );
    expect(error).toMatchObject({ name: 'ToolFailure', message: 'the budget is spent', retryable: false });
  },

  async cancelled(rig) {
    const handle = rig.submit('waitForSignal');
    await rig.step(handle, 'waiting');
    expect(handle.cancel('enough').cancelled).toBe(true);
    expect(await handle.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' });
  },

  async timeout(rig) {
    failed(await rig.outcome('waitForSignal', { timeoutMs: 100 }), 'timeout');
  },

  async endlessLoop(rig) {
    failed(await rig.outcome('loop', { timeoutMs: 100 }), 'timeout');
    const handle = rig.submit('loop');
    await rig.step(handle, 'looping');
    handle.cancel();
    expect((await handle.outcome()).status).toBe('cancelled');
  },

  async strayError(rig) {
    const { error } = failed(await rig.outcome('throwLater'), 'crashed');
    expect((error as Error).message).toContain('nobody catches this');
  },

  async exit(rig) {
    failed(await rig.outcome('exit'), 'crashed');
  },

  async unserialisableResult(rig) {
    const { error } = failed(await rig.outcome('returnFunction'), 'error');
    expect(error).toMatchObject({ name: 'VolleyError', code: 'UNSERIALISABLE_RESULT' });
  },

  async resultTooLarge(rig) {
    const limits = { resultBytes: 10_000 };
    const { error } = failed(await rig.outcome('returnMuch', { input: { bytes: 20_000 }, limits }), 'error');
    expect(error).toMatchObject({ name: 'VolleyError', code: 'RESULT_TOO_LARGE' });
    expect((await rig.outcome('returnMuch', { input: { bytes: 9_000 }, limits })).status).toBe('completed');
  },

  async heapGrowth(rig) {
    failed(await rig.outcome('fillHeap'), 'memory');
  },

  async hugeArray(rig) {
    failed(await rig.outcome('hugeArray'), 'memory');
  },

  async buffers(rig) {
    failed(await rig.outcome('fillBuffers'), 'memory');
  },

  async crash(rig) {
    const [aborted, crashed] = await Promise.all([rig.outcome('abort'), rig.outcome('segfault')]);
    expect((failed(aborted, 'crashed').error as Error).message).toContain('SIGABRT');
    expect((failed(crashed, 'crashed').error as Error).message).toContain('SIGSEGV');
  },

  async cpuTime(rig) {
    failed(await rig.outcome('loop', { limits: { cpuMs: 600 } }), 'cpu');
  },

  async orphan(rig) {
    // They were really there: only then does it mean something that none is left.
    expect(await rig.outcome('leaveOrphans')).toMatchObject({ status: 'completed', value: 3 });
  },

  async manyProcesses(rig) {
    const { error } = failed(await rig.outcome('fork', { limits: { processes: 4 } }), 'crashed');
    expect((error as Error).message).toContain('limit of 4 processes');
  },

  async outputFlood(rig) {
    const { error } = failed(await rig.outcome('flood', { limits: { outputBytes: 200_000 } }), 'error');
    expect(error).toMatchObject({ name: 'VolleyError', code: 'OUTPUT_LIMIT' });
  },
};

function failed(outcome: Outcome, reason: string): Extract<Outcome, { status: 'failed' }> {
  expect(outcome).toMatchObject({ status: 'failed', reason });
  return outcome as Extract<Outcome, { status: 'failed' }>;
}
