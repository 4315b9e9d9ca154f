import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/tools/define-tool.ts';
import { gate, quiet } from '../engine/support/gate.ts';
import { echo, openTestCoordinator, summary } from './support.ts';

const resources = () => ({ cpu: 0.1 });
const first = { id: 'e', name: 'echo', arguments: 1 };
const after = { arguments: { x: { $from: 'e' } } };

describe('a call whose needs follow from the result of another', () => {
  it('counts against the concurrency of its list', async () => {
    const { coordinator } = openTestCoordinator();
    let [running, most] = [0, 0];
    coordinator.register(
      echo,
      defineTool({
        name: 'work',
        resources,
        run: async () => {
          most = Math.max(most, ++running);
          await quiet();
          running--;
        },
      }),
    );
    const calls = Array.from({ length: 8 }, () => ({ name: 'work', ...after }));
    const results = await coordinator.executeParallel([first, ...calls], { maxConcurrency: 2 });
    expect(results.every(({ status }) => status === 'completed')).toBe(true);
    expect(most).toBe(2);
  });

  it('has failed itself where its failure ends the rest', async () => {
    const { coordinator } = openTestCoordinator();
    const started = gate();
    coordinator.register(
      echo,
      defineTool({
        name: 'wait',
        run: (_, { signal }) => {
          started.open();
          return new Promise((resolve) => signal.addEventListener('abort', resolve));
        },
      }),
      defineTool({
        name: 'work',
        resources,
        run: async () => {
          await started.passed;
          throw new Error('it broke');
        },
      }),
    );
    const results = await coordinator.executeParallel(
      [first, { id: 'w', name: 'work', ...after }, { id: 'other', name: 'wait' }],
      { failFast: true },
    );
    expect(results.map(summary)).toEqual([
      'e: completed 1',
      'w: failed error: it broke',
      'other: cancelled w failed, and the group is failFast',
    ]);
  });

  it('tells of its own attempts, under its own id, and uses the rate of its tool once', async () => {
    const { coordinator } = openTestCoordinator((config) => ({
      ...config,
      limits: { ...config.limits, tools: { work: { rate: { count: 3, perMs: 3_600_000 } } } },
    }));
    const ids: string[] = [];
    coordinator.register(
      echo,
      defineTool({
        name: 'work',
        resources,
        retry: { maxRetries: 2, delayMs: 0 },
        run: (_, { id, attempt }) => {
          ids.push(id);
          if (attempt < 3) throw new Error('again');
          return 'done';
        },
      }),
    );
    const [, result] = await coordinator.executeParallel([first, { id: 'n', name: 'work', ...after }]);
    expect(result).toMatchObject({ status: 'completed', value: 'done', attempts: 3 });
    expect(ids).toEqual(['calls-1/n', 'calls-1/n', 'calls-1/n']);
  });

  it('is named as the caller does when it takes too long', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(
      echo,
      defineTool({
        name: 'work',
        resources,
        timeoutMs: 10,
        run: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      }),
    );
    const [, result] = await coordinator.executeParallel([first, { id: 'n', name: 'work', ...after }]);
    expect(summary(result!)).toBe('n: failed timeout: EXECUTION_TIMEOUT');
  });

  it('has its time limit while its arguments are checked, too', async () => {
    const { coordinator } = openTestCoordinator();
    const input = z.any().refine(() => new Promise<boolean>(() => {}));
    coordinator.register(
      echo,
      defineTool({ name: 'work', resources, input, timeoutMs: 20, run: () => 'never' }),
    );
    const [, result] = await coordinator.executeParallel([first, { id: 'n', name: 'work', ...after }]);
    expect(result).toMatchObject({
      status: 'failed',
      reason: 'timeout',
      error: { code: 'EXECUTION_TIMEOUT' },
    });
  });
});
