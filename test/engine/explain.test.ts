import { describe, expect, it } from 'vitest';
import { openEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { HeldTool } from './support/held-tool.ts';

describe('explain', () => {
  it('tells why an execution waits, in words and as data', async () => {
    const engine = openEngine({ maxConcurrency: 4 });
    const migrate = new HeldTool();
    const resources = { exclusive: ['db'] };
    engine.submit({ id: 'm-1', toolName: 'migrate', resources }, migrate.run);
    const waiting = engine.submit({ toolName: 'report', resources }, () => 'done');
    await migrate.started();
    expect(engine.explain(waiting.id)).toMatchObject({
      id: waiting.id,
      toolName: 'report',
      status: 'queued',
      reason: 'lock',
      heldBy: [{ id: 'm-1', toolName: 'migrate' }],
      text: 'waits for the lock "db", held by m-1 (migrate)',
    });
    migrate.finish('done');
    await waiting.wait();
    expect(engine.explain(waiting.id)).toMatchObject({
      status: 'completed',
      reason: 'completed',
      attempts: 1,
    });
  });

  it('remembers why the last attempt failed', async () => {
    const engine = openEngine();
    const retry = { maxRetries: 1, delayMs: 60_000, jitter: 0 };
    const handle = engine.submit({ toolName: 'flaky', retry }, () => {
      throw new Error('no route to host');
    });
    for await (const update of handle.progress()) if (update.type === 'retrying') break;
    expect(engine.explain(handle.id)).toMatchObject({
      status: 'retrying',
      reason: 'retry-pause',
      attemptsLeft: 1,
      lastFailure: { reason: 'error', error: new Error('no route to host') },
    });
    expect(engine.explain(handle.id).text).toMatch(
      /^tries again for the last time in .*; the last attempt failed: error \(no route to host\)$/,
    );
  });

  it('refuses an id that nobody has', () => {
    const engine = openEngine();
    expect(codeOf(thrownBy(() => engine.explain('nobody')))).toBe('UNKNOWN_EXECUTION');
  });
});
