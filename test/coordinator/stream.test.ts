import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/tools/define-tool.ts';
import { gate } from '../engine/support/gate.ts';
import { echo, openTestCoordinator } from './support.ts';

describe('the iterator of stream()', () => {
  it('answers return() and an open next() at once, and cancels running calls', async () => {
    const { coordinator } = openTestCoordinator();
    const [started, stopped] = [gate(), gate()];
    coordinator.register(
      defineTool({
        name: 'wait',
        run: (_, { signal }) => {
          started.open();
          return new Promise((resolve) =>
            signal.addEventListener('abort', () => {
              stopped.open();
              resolve(undefined);
            }),
          );
        },
      }),
    );
    const results = coordinator.stream([{ name: 'wait' }]);
    const open = results.next();
    await started.passed;
    expect(await results.return()).toEqual({ done: true, value: undefined });
    expect(await open).toEqual({ done: true, value: undefined });
    await stopped.passed;
    expect(await results.next()).toEqual({ done: true, value: undefined });
  });

  it('answers each of many open next() in order, and ends after the last result', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(echo);
    const results = coordinator.stream([
      { id: 'a', name: 'echo' },
      { id: 'b', name: 'echo' },
    ]);
    const answers = await Promise.all([results.next(), results.next(), results.next()]);
    expect(answers.map(({ done }) => done)).toEqual([false, false, true]);
  });

  it('starts nothing before the first next(), nor after return()', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(echo);
    const results = coordinator.stream([{ name: 'echo' }]);
    await results.return();
    expect(await results.next()).toEqual({ done: true, value: undefined });
    expect(coordinator.engine.statistics().submitted).toBe(0);
  });

  it('tells what is wrong with the list once, and then ends', async () => {
    const { coordinator } = openTestCoordinator();
    const results = coordinator.stream('all' as never);
    await expect(results.next()).rejects.toMatchObject({ code: 'INVALID_CALL' });
    expect(await results.next()).toEqual({ done: true, value: undefined });
  });
});
