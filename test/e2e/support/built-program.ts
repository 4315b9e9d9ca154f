import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildLayers } from '../../runners/support/built.ts';

const SOURCES = fileURLToPath(new URL('../../../src/', import.meta.url));

/** The program as JavaScript: without a compiler in it, it starts several times faster, and so do its tools. */
export interface BuiltProgram {
  /** The folder of the package, as it is published: with `dist/index.js`, and all else in `dist`. */
  readonly folder: string;
  /** What `node` is given. */
  readonly main: string;
  /** The address of a module of it, such as `tools/define-tool.js`. */
  moduleUrl(path: string): string;
}

export async function buildProgram(): Promise<BuiltProgram> {
  const entries = await readdir(SOURCES, { withFileTypes: true });
  const layers = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  const folder = await buildLayers(['index.ts', ...layers.sort()], 'dist');
  return {
    folder,
    main: join(folder, 'dist/cli/main.js'),
    moduleUrl: (path) => pathToFileURL(join(folder, 'dist', path)).href,
  };
}
