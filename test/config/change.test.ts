import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { compareConfigs } from '../../src/config/watch.ts';
import { ParallelExecutionEngine } from '../../src/engine/engine.ts';
import { folderWith } from './support/folder.ts';

const load = (text: string) => loadConfig({ cwd: folderWith({ 'volley.toml': text }), env: {} });

describe('two configurations', () => {
  it('that say the same differ in nothing, wherever they stand', async () => {
    const change = compareConfigs(
      await load(''),
      await load('# nothing new\n[limits]\nmax_concurrency = 64'),
    );
    expect(change).toEqual({ live: [], restart: [], limits: undefined });
  });

  it('differ in keys that hold at once and in keys that need a restart, by name', async () => {
    const before = await load(
      '[limits]\ncpu = 1\n[limits.tools.a]\nmax_concurrency = 2\n[tools]\ndeny = ["x"]',
    );
    const after = await load(
      '[limits]\ncpu = 2\n[limits.groups."g h"]\nrate = { count = 1, per_ms = 2 }\n[threads]\nmax = 9',
    );
    expect(compareConfigs(before, after)).toMatchObject({
      live: [
        'limits.cpu',
        'limits.tools.a.max_concurrency',
        'limits.groups."g h".rate.count',
        'limits.groups."g h".rate.per_ms',
      ],
      restart: ['tools.deny', 'threads.max'],
    });
  });

  it('change named resources, of which nothing is left once they are taken out', async () => {
    const before = await load('[limits.resources]\ngpu = 1\nlicense = 3');
    const after = await load('[limits.resources]\nlicense = 5\nbrowser = 2');
    const { live, limits } = compareConfigs(before, after);
    expect(live).toEqual(['limits.resources.gpu', 'limits.resources.license', 'limits.resources.browser']);
    const engine = new ParallelExecutionEngine({ resources: before.config.limits.resources });
    engine.setLimits(limits!);
    const { gpu, license, browser } = engine.statistics().utilization;
    expect([gpu, license, browser].map((one) => one?.limit)).toEqual([0, 5, 2]);
  });

  it('give the engine what makes the second one hold: what was taken out too', async () => {
    const before = await load(
      '[limits]\nmax_concurrency = 1\n[limits.tools.a]\nmax_concurrency = 1\nrate = { count = 1, per_ms = 60_000 }',
    );
    const after = await load('[limits]\nmax_concurrency = 3');
    await using engine = new ParallelExecutionEngine();
    engine.setLimits(compareConfigs(await load(''), before).limits!);
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const begun = [0, 1, 2].map(
      () =>
        new Promise<void>((resolve) => {
          engine.submit({ toolName: 'a' }, () => {
            resolve();
            return finished;
          });
        }),
    );
    await begun[0];
    expect(engine.statistics().utilization.concurrency).toEqual({ used: 1, limit: 1 });
    engine.setLimits(compareConfigs(before, after).limits!);
    await Promise.all(begun);
    expect(engine.statistics().utilization.concurrency).toEqual({ used: 3, limit: 3 });
    finish();
  });
});
