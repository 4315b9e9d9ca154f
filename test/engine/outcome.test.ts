import { describe, expect, it } from 'vitest';
import { ToolFailure } from '../../src/index.ts';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { codeOf, rejectionOf } from './support/errors.ts';
import { HeldTool, obedient } from './support/held-tool.ts';

describe('outcome()', () => {
  it('describes a completion with its value, attempts and times', async () => {
    const { engine, clock } = openTimedEngine();
    const handle = engine.submit({ toolName: 'work', id: 'w' }, () => clock.sleep(20, 'value'));
    await clock.pass(20);
    const outcome = await handle.outcome();
    expect(outcome).toEqual({
      id: 'w',
      toolName: 'work',
      status: 'completed',
      value: 'value',
      attempts: 1,
      waitedMs: 0,
      durationMs: 20,
    });
  });

  it('counts the wait of what never started up to its end', async () => {
    const { engine, clock } = openTimedEngine();
    clock.skip(20);
    const handle = engine.submit({ toolName: 'unwanted' }, () => {});
    clock.skip(5);
    handle.cancel();
    expect(await handle.outcome()).toMatchObject({ attempts: 0, waitedMs: 5, durationMs: 0 });
  });

  it('counts the wait up to the start of the last attempt, and the duration from there', async () => {
    const { engine, clock } = openTimedEngine();
    clock.skip(20);
    const retry = { maxRetries: 1, delayMs: 100, jitter: 0 };
    const handle = engine.submit({ toolName: 'work', retry }, ({ attempt }) => {
      clock.skip(20);
      if (attempt === 1) throw new Error('again');
    });
    await clock.pass(200);
    expect(await handle.outcome()).toMatchObject({ attempts: 2, waitedMs: 120, durationMs: 20 });
  });

  it('never throws, however the execution ends', async () => {
    const { engine, clock } = openTimedEngine();
    const failed = engine.submit({ toolName: 'fails' }, () => Promise.reject(new Error('broken')));
    const skipped = engine.submit({ toolName: 'skipped', dependsOn: [failed] }, () => {});
    const cancelled = engine.submit({ toolName: 'cancelled' }, () => {});
    cancelled.cancel('not needed');
    const late = engine.submit({ toolName: 'late', timeoutMs: 1 }, obedient);
    await clock.pass(1);
    const outcomes = await Promise.all([failed, skipped, cancelled, late].map((handle) => handle.outcome()));
    expect(outcomes).toMatchObject([
      { status: 'failed', reason: 'error', error: new Error('broken'), attempts: 1 },
      { status: 'skipped', cause: failed.id, attempts: 0, durationMs: 0 },
      { status: 'cancelled', reason: 'not needed', attempts: 0 },
      { status: 'failed', reason: 'timeout', attempts: 1 },
    ]);
  });

  it('can be asked again after the end', async () => {
    const engine = openEngine();
    const handle = engine.submit({ toolName: 'work' }, () => 1);
    const first = await handle.outcome();
    expect(await handle.outcome()).toEqual(first);
  });

  it('keeps the reason that a tool gave for its failure', async () => {
    const engine = openEngine();
    const failure = new ToolFailure('The worker ran out of memory', { reason: 'memory', cause: 'oom' });
    const handle = engine.submit({ toolName: 'hungry' }, () => Promise.reject(failure));
    expect(await handle.outcome()).toMatchObject({ status: 'failed', reason: 'memory', error: failure });
    expect(failure.cause).toBe('oom');
  });
});

describe('the error of something without a value', () => {
  it('is EXECUTION_TIMEOUT after an attempt that took too long', async () => {
    const { engine, clock } = openTimedEngine();
    const handle = engine.submit({ toolName: 'slow', timeoutMs: 10 }, obedient);
    await clock.pass(10);
    expect(codeOf(await rejectionOf(handle.wait()))).toBe('EXECUTION_TIMEOUT');
  });

  it('is EXECUTION_STALLED after a silence that was too long', async () => {
    const { engine, clock } = openTimedEngine();
    const handle = engine.submit({ toolName: 'silent', stallMs: 10 }, obedient);
    await clock.pass(10);
    expect(codeOf(await rejectionOf(handle.wait()))).toBe('EXECUTION_STALLED');
  });

  it('is not EXECUTION_STALLED while the tool reports something', async () => {
    const { engine, clock } = openTimedEngine();
    const handle = engine.submit({ toolName: 'talkative', stallMs: 1000 }, async ({ report }) => {
      for (let step = 1; step <= 6; step++) {
        await clock.sleep(999);
        report(`step ${step}`);
      }
      return 'done';
    });
    await clock.pass(6 * 999);
    expect(await handle.wait()).toBe('done');
  });

  it('is EXECUTION_DEADLINE when the time in all is over, running or not', async () => {
    const { engine, clock } = openTimedEngine({ maxConcurrency: 2 });
    const tool = new HeldTool<void>();
    const endless = engine.submit({ toolName: 'endless' }, new HeldTool<void>().run);
    const running = engine.submit({ toolName: 'held', deadlineMs: 200 }, tool.run);
    const queued = engine.submit({ toolName: 'queued', deadlineMs: 10 }, () => {});
    const pending = engine.submit({ toolName: 'pending', dependsOn: [endless], deadlineMs: 10 }, () => {});
    await clock.pass(200);
    const errors = await Promise.all([running, queued, pending].map((handle) => rejectionOf(handle.wait())));
    expect(errors.map(codeOf)).toEqual(['EXECUTION_DEADLINE', 'EXECUTION_DEADLINE', 'EXECUTION_DEADLINE']);
    expect(await running.outcome()).toMatchObject({ status: 'failed', reason: 'deadline' });
  });

  it('is not EXECUTION_DEADLINE because the caller was busy before the submission', async () => {
    const { engine, clock } = openTimedEngine();
    engine.submit({ toolName: 'first' }, () => {});
    clock.skip(1100);
    const single = engine.submit({ toolName: 'in time', deadlineMs: 1000 }, () => 'single');
    const group = engine.submitAll([{ toolName: 'in time', run: () => 'member' }], { timeoutMs: 1000 });
    expect(await single.wait()).toBe('single');
    expect(await group.outcomes()).toMatchObject([{ status: 'completed', value: 'member' }]);
  });

  it('is EXECUTION_CANCELLED with the reason in its message', async () => {
    const engine = openEngine();
    const handle = engine.submit({ toolName: 'unwanted' }, () => {});
    handle.cancel(new Error('the user left'));
    const error = await rejectionOf(handle.wait());
    expect(codeOf(error)).toBe('EXECUTION_CANCELLED');
    expect(error).toMatchObject({ message: expect.stringContaining('the user left') });
  });

  it('is EXECUTION_SKIPPED and says what became of the cause, or that there was none', async () => {
    const engine = openEngine();
    const failed = engine.submit({ toolName: 'a', id: 'bad' }, () => Promise.reject(new Error('broken')));
    const cancelled = engine.submit({ toolName: 'b', id: 'gone' }, () => {});
    const good = engine.submit({ toolName: 'c' }, () => {});
    const skipped = [failed, cancelled].map((cause) =>
      engine.submit({ toolName: 'next', dependsOn: [cause] }, () => {}),
    );
    const onDependencyFailure = 'on-failure';
    skipped.push(engine.submit({ toolName: 'next', dependsOn: [good], onDependencyFailure }, () => {}));
    cancelled.cancel();
    const errors = await Promise.all(skipped.map((handle) => rejectionOf(handle.wait())));
    expect(errors.map((error) => (error as Error).message.replace(/^.* was skipped: /, ''))).toEqual([
      'it depends on bad (a), which failed',
      'it depends on gone (b), which was cancelled',
      'it runs only when a dependency fails, and none did',
    ]);
  });

  it('is EXECUTION_SKIPPED and names the root cause, not the neighbour', async () => {
    const engine = openEngine();
    const root = engine.submit({ toolName: 'root', id: 'root' }, () => Promise.reject(new Error('broken')));
    const middle = engine.submit({ toolName: 'middle', dependsOn: [root] }, () => {});
    const last = engine.submit({ toolName: 'last', dependsOn: [middle] }, () => {});
    const error = await rejectionOf(last.wait());
    expect(codeOf(error)).toBe('EXECUTION_SKIPPED');
    expect(error).toMatchObject({ details: { cause: 'root' }, message: expect.stringContaining('root') });
  });
});
