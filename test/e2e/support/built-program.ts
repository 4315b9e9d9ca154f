import { chmod, cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildLayers } from '../../runners/support/built.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SOURCES = join(ROOT, 'src');

/** The program as JavaScript: without a compiler in it, it starts several times faster, and so do its tools. */
export interface BuiltProgram {
  /** The folder of the package, as it is published: with `dist/index.js`, and all else in `dist`. */
  readonly folder: string;
  /** What `node` is given. */
  readonly main: string;
  /** The address of a module of it, such as `tools/define-tool.js`. */
  moduleUrl(path: string): string;
  /** Puts it into the `node_modules` of a folder as npm would, without asking a registry. */
  install(folder: string): Promise<void>;
}

export async function buildProgram(): Promise<BuiltProgram> {
  const entries = await readdir(SOURCES);
  const folder = await buildLayers(entries.sort(), 'dist');
  const dist = join(folder, 'dist');
  const main = join(dist, 'cli/main.js');
  return {
    folder,
    main,
    moduleUrl: (path) => pathToFileURL(join(dist, path)).href,
    install: async (into) => {
      const installed = join(into, 'node_modules/volley');
      await mkdir(installed, { recursive: true });
      await mkdir(join(into, 'node_modules/.bin'));
      for (const file of ['package.json', 'docs/volley.schema.json'])
        await cp(join(ROOT, file), join(installed, file), { recursive: true });
      await symlink(dist, join(installed, 'dist'), 'junction');
      await chmod(main, 0o755);
      await symlink('../volley/dist/cli/main.js', join(into, 'node_modules/.bin/volley'));
    },
  };
}
