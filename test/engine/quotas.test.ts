import { describe, expect, it } from 'vitest';
import { RateLimitedError } from '../../src/index.ts';
import { openEngine } from './support/engine.ts';
import { readUpdates } from './support/updates.ts';

describe('a quota of the engine', () => {
  it('is paused until the time of day that the error names, and says so', async () => {
    const engine = openEngine();
    const resetAt = Date.now() + 300;
    const handle = engine.submit({ toolName: 'api' }, ({ attempt, quota }) => {
      if (attempt === 1) throw new RateLimitedError('used up', { resetAt });
      return quota;
    });
    const other = engine.submit({ id: 'other', toolName: 'api', dependsOn: [] }, () => 'too');
    const updates = await readUpdates(handle.progress());
    expect(updates.find(({ type }) => type === 'retrying')).toMatchObject({ quota: 'api', attempt: 1 });
    expect(Date.now()).toBeGreaterThanOrEqual(resetAt - 1);
    expect(await handle.wait()).toBe('api');
    expect(await other.wait()).toBe('too');
  });

  it('is explained with the time of day', async () => {
    const engine = openEngine();
    const refused = engine.submit({ id: 'a', toolName: 'x', quota: 'agent:codex' }, () => {
      throw new RateLimitedError('used up', { retryAfterMs: 3_600_000 });
    });
    await expect.poll(() => refused.status).toBe('queued');
    const until = new Date(Date.now() + 3_600_000).getMinutes();
    expect(engine.explain('a')).toMatchObject({ reason: 'quota', scope: 'agent:codex' });
    expect(engine.explain('a').text).toMatch(
      new RegExp(
        `^paused until [\\d -]*\\d\\d:(?:${[until, (until + 59) % 60].map((m) => String(m).padStart(2, '0')).join('|')}): codex reached its limit$`,
      ),
    );
    expect(engine.quotas()).toMatchObject([{ scope: 'agent:codex', allowed: 1, refusals: 1 }]);
    refused.cancel('enough');
  });
});
