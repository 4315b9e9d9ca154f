import { expect, test } from 'vitest';
import { isToolFailure, ToolFailure } from '../../src/engine/tool-failure.ts';
import { openEngine } from './support/engine.ts';

test('a failure of another copy of Volley, which a package of tools may bring, says as much', async () => {
  const copy = '../../src/engine/tool-failure.ts?copy';
  const { ToolFailure: Other } = (await import(copy)) as { ToolFailure: typeof ToolFailure };
  expect(Other).not.toBe(ToolFailure);
  const outcome = await openEngine()
    .submit({ toolName: 'x', retry: { maxRetries: 5, delayMs: 0 } }, () => {
      throw new Other('too much', { reason: 'memory', retryable: false });
    })
    .outcome();
  expect(outcome).toMatchObject({ status: 'failed', reason: 'memory', attempts: 1 });
});

test('what merely looks like a failure is none', () => {
  for (const other of [new Error('x'), { name: 'ToolFailure', reason: 'memory' }, null, 'x'])
    expect(isToolFailure(other)).toBe(false);
});
