import { expect, test } from 'vitest';
import { defaultConfig } from '../../src/config/config.ts';
import { environmentOf } from '../../src/coordinator/environment.ts';
import { RunnerSet } from '../../src/coordinator/runner-set.ts';

test('commands get the network only where the configuration says so', () => {
  const config = defaultConfig();
  const runners = new RunnerSet(config);
  expect(environmentOf(config, runners).shell.sandbox.network).toBe(false);
  const open = { ...config, shell: { ...config.shell, network: true } };
  expect(environmentOf(open, runners).shell.sandbox.network).toBe(true);
});
