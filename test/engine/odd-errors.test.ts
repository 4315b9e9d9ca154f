import { describe, expect, it } from 'vitest';
import { openEngine } from './support/engine.ts';

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const ODD: [string, () => unknown][] = [
  [
    'an object that cannot be looked at',
    () =>
      Object.defineProperty({}, 'retryable', {
        get() {
          throw new Error('do not look');
        },
      }),
  ],
  ['a revoked proxy', revoked],
  ['an object without a prototype', () => Object.create(null)],
  ['an error whose message is no text', () => Object.assign(new Error('x'), { message: {} })],
];

describe('a function that throws', () => {
  it.each(ODD)('%s fails with it, and everybody can read on', async (_, make) => {
    const engine = openEngine({ maxConcurrency: 1 });
    const thrown = make();
    const handle = engine.submit({ toolName: 'odd' }, () => {
      throw thrown;
    });
    const next = engine.submit({ toolName: 'next' }, () => 'next');
    expect((await handle.outcome()) as { error: unknown }).toHaveProperty('status', 'failed');
    const types: string[] = [];
    for await (const { type } of handle.progress()) types.push(type);
    expect(types).toEqual(['started', 'failed']);
    expect(await next.wait()).toBe('next');
  });
});
