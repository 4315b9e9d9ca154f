import { expect, test } from 'vitest';
import { defaultConfig } from '../../../src/config/config.ts';
import { RUN_INPUT, toRunRequest } from '../../../src/tasks/run/run-request.ts';

test('a request from outside may lower budgets but not raise them, and may not choose any agent as a person may', () => {
  const settings = { ...defaultConfig().tasks, budget: { turns: 5, cost: 2 } };
  const input = RUN_INPUT.parse({ timeout: 90, budget: { turns: 100, cost: 1, tokens: 7 } });
  expect(toRunRequest('auth', input, settings)).toEqual({
    feature: 'auth',
    timeoutMs: 90_000,
    budget: { turns: 5, cost: 1, tokens: 7 },
  });
});
