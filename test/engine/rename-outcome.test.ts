import { describe, expect, it } from 'vitest';
import { cancellationText } from '../../src/core/failure.ts';
import { renameError, renameOutcome } from '../../src/engine/outcome.ts';
import { VolleyError } from '../../src/index.ts';
import { openEngine } from './support/engine.ts';
import { rejectionOf } from './support/errors.ts';
import { HeldTool, obedient } from './support/held-tool.ts';

const local = (id: string) => id.slice(id.indexOf('/') + 1);

describe('An outcome in the names of the caller', () => {
  it('has ids, causes and the errors of the engine in them', async () => {
    const engine = openEngine();
    const group = engine.submitAll([
      { id: 'list/a', toolName: 'limited', timeoutMs: 5, run: obedient },
      { id: 'list/b', toolName: 'limited', dependsOn: ['list/a'], run: obedient },
    ]);
    const [a, b] = (await group.outcomes()).map((outcome) => renameOutcome(outcome, 'read', local));
    expect(a).toMatchObject({
      id: 'a',
      toolName: 'read',
      error: {
        code: 'EXECUTION_TIMEOUT',
        message: expect.stringMatching(/^a \(read\) .*\b5 ms/),
        details: { id: 'a', toolName: 'read', timeoutMs: 5 },
      },
    });
    expect(b).toMatchObject({ id: 'b', status: 'skipped', cause: 'a' });
    const skipped = renameError(await rejectionOf(group.handles[1]!.wait()), 'read', local) as VolleyError;
    expect(skipped.message).toMatch(/^b \(read\) .*\ba \(limited\)/);
    expect(skipped.message).not.toContain('list/');
    expect(skipped.details).toMatchObject({ id: 'b', cause: 'a', causeStatus: 'failed' });
  });

  it('names who was the cause of a cancellation', async () => {
    const engine = openEngine();
    const group = engine.submitAll(
      [
        { id: 'list/a', toolName: 'read', error: new Error('refused') },
        { id: 'list/b', toolName: 'read', run: obedient },
      ],
      { failFast: true },
    );
    const outcome = (await group.outcomes())[1]!;
    expect(outcome).toMatchObject({
      reason: cancellationText({ event: 'fail-fast', id: 'list/a' }),
      because: { event: 'fail-fast', id: 'list/a' },
    });
    expect(renameOutcome(outcome, 'read', local)).toMatchObject({
      reason: cancellationText({ event: 'fail-fast', id: 'a' }),
      because: { event: 'fail-fast', id: 'a' },
    });
    expect(renameError(await rejectionOf(group.handles[1]!.wait()), 'read', local)).toMatchObject({
      message: `b (read) was cancelled: ${cancellationText({ event: 'fail-fast', id: 'a' })}`,
    });
  });

  it('keeps a value, a reason that was given, and what a tool threw itself', async () => {
    const engine = openEngine();
    const held = new HeldTool();
    const own = new VolleyError('EXECUTION_FAILED', 'list/a broke');
    const group = engine.submitAll([
      { id: 'list/a', toolName: 'read', run: () => Promise.reject(own) },
      { id: 'list/b', toolName: 'read', run: () => 'list/b' },
      { id: 'list/c', toolName: 'read', run: held.run },
    ]);
    await held.started();
    group.handles[2]!.cancel('list/c is too slow');
    const outcomes = (await group.outcomes()).map((outcome) => renameOutcome(outcome, 'read', local));
    expect(outcomes).toMatchObject([{ error: own }, { value: 'list/b' }, { reason: 'list/c is too slow' }]);
  });
});
