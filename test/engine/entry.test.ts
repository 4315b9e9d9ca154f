import { relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as engine from '../../src/engine/index.ts';
import * as volley from '../../src/index.ts';
import { importGraph } from '../support/import-graph.ts';

const ENTRY = 'src/engine/index.ts';

describe('volley/engine', () => {
  it('has these names and nothing else', () => {
    expect(Object.keys(engine).sort()).toEqual([
      'DependencyGraph',
      'ERROR_CODES',
      'GraphNode',
      'GroupHandle',
      'OutageError',
      'PRIORITIES',
      'ParallelExecutionEngine',
      'ProgressTracker',
      'RateLimitedError',
      'ResourceManager',
      'ToolFailure',
      'VolleyError',
      'simulate',
    ]);
  });

  it('gives the same objects as volley', () => {
    expect(volley).toMatchObject(engine);
  });

  it('loads the core and the engine, and no package, not even for its types', () => {
    const { files, packages } = importGraph(ENTRY, { types: true });
    expect(packages).toEqual([]);
    const layers = files.map((file) => relative('src', file).split('/')[0]);
    expect([...new Set(layers)].sort()).toEqual(['core', 'engine']);
  });
});

describe('volley', () => {
  it('loads one small package: no database, parser, schema library or MCP before one is used', () => {
    expect(importGraph('src/index.ts').packages).toEqual(['picomatch']);
  });
});
