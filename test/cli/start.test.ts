import { existsSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url));
/** What is loaded at run time: not types, and not what is imported when it is needed. */
const IMPORT = /^(?:import|export) (?!type )(?:[^;]*? from )?'([^']+)';/gm;

/** Layers that are for those who run something. */
const HEAVY = ['engine', 'runners', 'tools', 'coordinator', 'tasks', 'mcp'];
/** The only module of those that others need: how a time of day is written. */
const LIGHT = 'engine/clock.ts';

/** All that some files load with them: folders of ours, and packages. */
function loadedBy(...files: readonly string[]): { layers: string[]; packages: string[]; count: number } {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const waiting = files.map((file) => resolve(SOURCE, file));
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (seen.has(file)) continue;
    expect(existsSync(file), file).toBe(true);
    seen.add(file);
    for (const [, from] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      if (from!.startsWith('.')) waiting.push(resolve(dirname(file), from!));
      else if (!from!.startsWith('node:')) packages.add(from!);
    }
  }
  const paths = [...seen].map((file) => relative(SOURCE, file));
  const layers = new Set(paths.filter((path) => path !== LIGHT).map((path) => path.split('/')[0]!));
  return { layers: [...layers].sort(), packages: [...packages].sort(), count: seen.size };
}

/** Loading modules is nearly all that a quick command does: these are what it may cost. */
describe('a command that only looks', () => {
  it('loads no schema either, if it is status, which is asked for most', () => {
    const { layers, packages, count } = loadedBy(
      'cli/command-line.ts',
      'cli/commands/status.ts',
      'config/source.ts',
      'batch/status.ts',
    );
    expect(layers.filter((layer) => HEAVY.includes(layer))).toEqual([]);
    expect(packages).toEqual(['@photostructure/sqlite', 'commander', 'smol-toml']);
    expect(count).toBeLessThan(100);
  });

  it.each(['list', 'results', 'wait'])('loads no tools, engine or parsers: %s', (name) => {
    const { layers, packages, count } = loadedBy(
      'cli/command-line.ts',
      name === 'list' ? 'cli/session/action-command.ts' : `cli/commands/${name}.ts`,
      `batch/actions/${name}.ts`,
      'batch/input/check.ts',
    );
    expect(layers.filter((layer) => HEAVY.includes(layer))).toEqual([]);
    expect(packages).toEqual(['@photostructure/sqlite', 'commander', 'zod']);
    expect(count).toBeLessThan(100);
  });

  it.each(['watch', 'explain', 'recover'])('starts without them: %s', (name) => {
    const { layers, packages } = loadedBy('cli/command-line.ts', `cli/commands/${name}.ts`);
    expect(layers.filter((layer) => HEAVY.includes(layer))).toEqual([]);
    expect(packages).not.toContain('yaml');
  });

  it.each(['stop', 'cancel'])('starts without them if it asks the process that runs a batch: %s', (name) => {
    const { layers, packages } = loadedBy(
      'cli/command-line.ts',
      'cli/session/action-command.ts',
      `batch/actions/${name}.ts`,
    );
    expect(layers.filter((layer) => HEAVY.includes(layer))).toEqual([]);
    expect(packages).not.toContain('yaml');
  });
});
