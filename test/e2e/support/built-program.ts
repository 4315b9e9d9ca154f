import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildOnce } from '../../runners/support/built.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SOURCES = join(ROOT, 'src');

/** Modules that tests load from the program, besides the entries of the package. */
const FOR_TESTS = {
  'tools/define-tool': 'src/tools/define-tool.ts',
  'coordinator/coordinator': 'src/coordinator/coordinator.ts',
  'config/load': 'src/config/load.ts',
  'store/folder-lock': 'src/store/folder-lock.ts',
  'tasks/files/task-folder': 'src/tasks/files/task-folder.ts',
  'tasks/verify/complete': 'src/tasks/verify/complete.ts',
};

/** Programs of tests that load modules of ours, bundled with them. */
const PROGRAMS = [
  'batch/fixtures/runs-until-killed',
  'server/events/fixtures/runs-a-batch',
  'server/events/fixtures/serves-a-store',
  ...['contends', 'copies-until-killed', 'fills-the-disk', 'journals', 'opens'].map(
    (name) => `store/fixtures/${name}`,
  ),
];
/** What they load of the tests. */
const LOADED = ['batch/support/noting-tools'];

/** The program as it is published: bundled. Without a compiler in it, it starts several times faster. */
export interface BuiltProgram {
  /** The folder of the package, as it is published: with everything in `dist`. */
  readonly folder: string;
  /** What `node` is given. */
  readonly main: string;
  /** The address of a module of it, such as `tools/define-tool.js`. */
  moduleUrl(path: string): string;
  /** One of the programs of tests, such as `store/fixtures/opens`, for `node`. */
  program(name: string): string;
  /** Puts it into the `node_modules` of a folder as npm would, without asking a registry. */
  install(folder: string): Promise<void>;
}

export async function buildProgram(): Promise<BuiltProgram> {
  const entries = await readdir(SOURCES);
  const ofTests = [...PROGRAMS, ...LOADED].map((name) => `../test/${name}.ts`);
  const folder = await buildOnce([...entries.sort(), ...ofTests], async (into) => {
    const { bundle } = await import('../../../scripts/bundle.ts');
    const programs = PROGRAMS.map((name) => [`tests/${name}`, `test/${name}.ts`] as const);
    await bundle(join(into, 'dist'), { ...FOR_TESTS, ...Object.fromEntries(programs) });
    await writeFile(join(into, 'package.json'), '{ "type": "module", "version": "0.0.0" }');
  });
  const dist = join(folder, 'dist');
  const main = join(dist, 'cli/main.js');
  return {
    folder,
    main,
    moduleUrl: (path) => pathToFileURL(join(dist, path)).href,
    program: (name) => join(dist, 'tests', `${name}.js`),
    install: async (into) => {
      const installed = join(into, 'node_modules/volley');
      await mkdir(installed, { recursive: true });
      await mkdir(join(into, 'node_modules/.bin'));
      for (const file of ['package.json', 'docs/volley.schema.json'])
        await cp(join(ROOT, file), join(installed, file), { recursive: true });
      await symlink(dist, join(installed, 'dist'), 'junction');
      await symlink('../volley/dist/cli/main.js', join(into, 'node_modules/.bin/volley'));
    },
  };
}
