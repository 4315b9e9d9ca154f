import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { defaultConfig } from '../../src/config/config.ts';
import { DEFAULTS } from '../../src/config/schema.ts';
import { configSchema } from '../../src/config/zod-schema.ts';
import { retryPolicy } from '../../src/core/retry.ts';
import { ParallelExecutionEngine } from '../../src/engine/engine.ts';

describe('the defaults', () => {
  it('are what the schema gives for an empty file', () => {
    expect(configSchema().parse({})).toEqual(DEFAULTS);
  });

  it('are those of an engine that is told nothing', async () => {
    await using engine = new ParallelExecutionEngine();
    const { limits } = defaultConfig();
    const { utilization } = engine.statistics();
    const limitOf = Object.fromEntries(Object.entries(utilization).map(([name, { limit }]) => [name, limit]));
    expect(limitOf).toEqual({ concurrency: limits.maxConcurrency, ...limits.limits });
  });

  it('are those of a call that is told nothing', () => {
    expect(retryPolicy({})).toEqual(defaultConfig().defaults.retry);
    expect(defaultConfig().defaults).toMatchObject({ priority: 'normal', timeoutMs: 300_000 });
  });

  it('keep tools that reach out of the roots switched off', () => {
    expect(defaultConfig().shell.enabled).toBe(false);
    expect(defaultConfig().http).toMatchObject({ enabled: false, allowPrivate: false });
  });

  it('cost nobody without a configuration the loading of parsers and schemas', () => {
    const packages = packagesOf(fileURLToPath(new URL('../../src/config/load.ts', import.meta.url)));
    expect(packages).toEqual(['node:fs', 'node:os', 'node:path']);
  });
});

/** The packages that a module and those that it imports load at once, not when they are needed. */
function packagesOf(file: string, seen = new Set<string>()): string[] {
  seen.add(file);
  const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|export)(?! type\b)[^;]*? from '(.+)';$/gm);
  const packages = new Set<string>();
  for (const [, name] of imports) {
    if (!name!.startsWith('.')) packages.add(name!);
    else if (!seen.has(join(dirname(file), name!)))
      for (const inner of packagesOf(join(dirname(file), name!), seen)) packages.add(inner);
  }
  return [...packages].sort();
}
