import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { parseAst } from 'rolldown/parseAst';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SOURCES = join(ROOT, 'src');

/** What is loaded by its path: by users, by a new thread or process. Each keeps its place below `dist`. */
export const ENTRIES = [
  'index',
  'engine/index',
  'server/index',
  'tools/builtin/index',
  'cluster/worker-thread',
  'runners/process/child',
  'runners/thread/worker',
  'script/evaluate-worker',
  'script/program-worker',
  'tools/schema-worker',
];
/** Files that are not TypeScript but belong to the package. */
const ASSETS = ['runners/process/launcher.pl', 'cli/mcp/client-watch.pl'];

/** Whether an import names a package or a part of Node rather than a file of ours. */
export const isPackage = (id: string): boolean => !id.startsWith('.') && !isAbsolute(id);

/**
 * Packages that become part of the bundle, because nearly every command loads them: reading their many files, zod's
 * languages among them, would take longer than the command. A schema of another copy of zod works as well.
 */
const INLINED = [
  'zod',
  'commander',
  'smol-toml',
  'toml-eslint-parser',
  'eslint-visitor-keys',
  'picomatch',
].concat('get-east-asian-width');

function isExternal(id: string): boolean {
  return isPackage(id) && !INLINED.some((name) => id === name || id.startsWith(`${name}/`));
}

/** What `volley status` loads, and what `volley run` and `volley mcp` load besides. */
const STATUS = ['cli/command-line', 'cli/commands/status', 'config/source', 'batch/status'];
const RUN = ['cli/commands/run', 'batch/actions/add-batch', 'batch/actions/start', 'batch/input/understand']
  .concat('batch/run/batch-run', 'batch/run/runs', 'mcp/open-coordinator', 'config/assemble', 'config/trust')
  .concat('cli/display/create-display', 'batch/run/holder-requests');

/** A module may be loaded late by one command and at once by another. */
const CHECKS = { ineffectiveDynamicImport: false };

/**
 * Bundles `src`, and `extra` entries by their names, into `outDir`. What is imported dynamically stays a chunk of its own, so that a command loads what
 * it uses.
 */
export async function bundle(outDir: string, extra: Readonly<Record<string, string>> = {}): Promise<void> {
  const build = await rolldown({
    cwd: ROOT,
    platform: 'node',
    input: { ...Object.fromEntries(ENTRIES.map((entry) => [entry, `src/${entry}.ts`])), ...extra },
    external: isExternal,
    checks: CHECKS,
    plugins: [keepModuleUrls(outDir), onlyEnglish(), withoutFacades()],
  });
  await build.write({
    dir: outDir,
    format: 'esm',
    chunkFileNames: 'chunks/[name].js',
    comments: false,
    codeSplitting: { groups: chunks() },
  });
  await build.close();
  await bundleCommandLine(outDir);
  await writeFile(join(outDir, 'LICENSES.txt'), (await Promise.all(INLINED.map(licenseOf))).join('\n'));
  for (const asset of ASSETS) await cp(join(SOURCES, asset), join(outDir, asset));
  // npm does this where the package is installed. In the checkout itself `npx volley` needs it too.
  await chmod(join(outDir, 'cli/main.js'), 0o755);
}

/** `src/cli/start.ts` says why the command line is CommonJS. */
async function bundleCommandLine(outDir: string): Promise<void> {
  const dir = join(outDir, 'cli');
  const common = { cwd: ROOT, platform: 'node', external: isExternal, checks: CHECKS } as const;
  const program = await rolldown({
    ...common,
    input: { 'command-line': 'src/cli/command-line.ts' },
    plugins: [keepModuleUrls(outDir), onlyEnglish(), importsFromOutside()],
  });
  const { output } = await program.write({
    dir,
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: 'chunks/[name].cjs',
    comments: false,
    codeSplitting: { groups: chunks() },
  });
  await program.close();
  const hash = createHash('sha256');
  for (const file of output) if (file.type === 'chunk') hash.update(file.code);
  const start = await rolldown({
    ...common,
    input: { main: 'src/cli/start.ts' },
    transform: { define: { BUILD: JSON.stringify(hash.digest('hex').slice(0, 16)) } },
  });
  await start.write({ dir, format: 'esm', comments: false });
  await start.close();
}

/** Compiles modules of `src`, given by their paths in it, one by one: each becomes a file of its own, at the same path. */
export async function compileModules(files: readonly string[], outDir: string): Promise<void> {
  const build = await rolldown({
    cwd: ROOT,
    platform: 'node',
    input: Object.fromEntries(files.map((file) => [file.replace(/\.ts$/, ''), `src/${file}`])),
    external: isPackage,
    treeshake: false,
  });
  await build.write({ dir: outDir, format: 'esm', preserveModules: true, preserveModulesRoot: SOURCES });
  await build.close();
}

/** The license of a package, which its copy in the bundle must come with. */
async function licenseOf(name: string): Promise<string> {
  const folder = join(ROOT, 'node_modules', name);
  const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name} has no file with its license.`);
  return `## ${name}\n\n${await readFile(join(folder, file), 'utf8')}`;
}

/**
 * Few large chunks, because a file takes longer to find and open than to parse. Each is a set of modules minus those of the
 * sets before it. A set contains whatever its modules import, so chunks never import each other in circles.
 */
function chunks(): { name: string; test: (id: string) => boolean; minShareCount?: number }[] {
  const entries = new Set(ENTRIES.map((entry) => join(SOURCES, `${entry}.ts`)));
  const library = loadedBy(['index']);
  const status = loadedBy(STATUS);
  const store = loadedBy(['store/open/open-store']);
  const run = loadedBy(RUN);
  const inLayer = (layer: string, has: (id: string) => boolean) => ({
    name: layer,
    test: (id: string) => id.startsWith(`${join(SOURCES, layer)}/`) && has(id),
    minShareCount: 2,
  });
  const of = (name: string, has: (id: string) => boolean) => ({
    name,
    test: (id: string) => !entries.has(id) && has(id),
  });
  return [
    // Everything loads these, and they load no package.
    inLayer('core', (id) => run.has(id)),
    inLayer('engine', () => true),
    { name: 'zod', test: (id) => /\/node_modules\/zod\//.test(id) },
    of('common', (id) => status.has(id) && library.has(id)),
    of('store', (id) => store.has(id)),
    of('status', (id) => status.has(id)),
    of('tools', (id) => library.has(id) && run.has(id)),
    of('library', (id) => library.has(id)),
    of('run', (id) => run.has(id)),
  ];
}

const IMPORT = /^(?:import|export) (?!type )(?:[^;]*? from )?'(\.[^']+)';/gm;

/** The modules that some modules load with them. */
function loadedBy(modules: readonly string[]): ReadonlySet<string> {
  const found = new Set(modules.map((module) => join(SOURCES, `${module}.ts`)));
  for (const file of found)
    for (const [, from] of readFileSync(file, 'utf8').matchAll(IMPORT))
      found.add(resolve(dirname(file), from!));
  return found;
}

const MODULE_URL = /__module_url__\("(.+?)"\)/g;

/** A module finds files by its own URL. In a chunk, `import.meta.url` still means the place of the module. */
function keepModuleUrls(outDir: string): Plugin {
  return {
    name: 'keep-module-urls',
    transform(code, id) {
      if (!code.includes('import.meta.url')) return null;
      const path = relative(SOURCES, id).replaceAll('\\', '/').replace(/\.ts$/, '.js');
      let result = code;
      for (const { start, end } of found(parseAst(code, { lang: 'ts' }), isModuleUrl))
        result = `${result.slice(0, start)}__module_url__("${path}")${result.slice(end)}`;
      return result;
    },
    renderChunk(code, chunk, { format, dir }) {
      const up = relative(join(dir!, dirname(chunk.fileName)), outDir).replaceAll('\\', '/') || '.';
      const own = format === 'cjs' ? 'require("node:url").pathToFileURL(__filename)' : 'import.meta.url';
      return code.replaceAll(MODULE_URL, (_, path: string) => `new URL("${up}/${path}", ${own}).href`);
    },
  };
}

/** Without the messages that zod has in other languages: half of its code, which nobody asks for here. */
function onlyEnglish(): Plugin {
  return {
    name: 'only-english',
    transform(code) {
      // What is not used of a namespace is left out; of an object, nothing is.
      return code.replace(/^import \{ z \} from 'zod';$/m, "import * as z from 'zod';");
    },
    resolveId(id, importer) {
      if (!id.endsWith('/locales/index.js') || importer?.includes('/node_modules/zod/') !== true) return null;
      return join(dirname(importer), '../locales/en.js');
    },
  };
}

const FACADE = /^export \{ ([^}]+) \} from "\.\/([^"]+)";\s*$/;

/**
 * A module that is imported dynamically, and is part of a chunk, gets a file that only exports it again. Finding and
 * linking such a file takes a millisecond, and a command would load ten: the import names the chunk instead.
 */
function withoutFacades(): Plugin {
  return {
    name: 'without-facades',
    generateBundle(_, files) {
      const facades = new Map<string, string>();
      for (const [file, each] of Object.entries(files)) {
        const [, names, chunk] = (each.type === 'chunk' && !each.isEntry && FACADE.exec(each.code)) || [];
        if (names === undefined) continue;
        const pairs = names.split(', ').map((pair) => pair.split(' as ') as [string, string?]);
        const members = pairs.map(([inner, name = inner]) => `${name}: m.${inner}`);
        facades.set(file.replace('chunks/', ''), `/${chunk}").then((m) => ({ ${members.join(', ')} }))`);
      }
      for (const each of Object.values(files)) {
        if (each.type !== 'chunk') continue;
        each.code = each.code.replace(
          /import\("(\.{1,2}(?:\/[\w.-]+)*)\/([\w.-]+)"\)/g,
          (whole, folder: string, name: string) =>
            facades.has(name) ? `import("${folder}${facades.get(name)}` : whole,
        );
      }
      const rest = Object.values(files).map((each) => (each.type === 'chunk' ? each.code : ''));
      for (const name of facades.keys())
        if (!rest.some((code) => code.includes(`/${name}"`))) delete files[`chunks/${name}`];
    },
  };
}

interface AstNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

interface ModuleUrl extends AstNode {
  readonly object?: AstNode;
  readonly property?: { readonly name?: string };
}

function isModuleUrl(node: ModuleUrl): boolean {
  return (
    node.type === 'MemberExpression' && node.object?.type === 'MetaProperty' && node.property?.name === 'url'
  );
}

/** The nodes of a kind, the last one first, so that replacing one leaves the places of the others as they are. */
function found(root: unknown, isWanted: (node: AstNode) => boolean): AstNode[] {
  const nodes: AstNode[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (isWanted(value as AstNode)) nodes.push(value as AstNode);
    Object.values(value).forEach(visit);
  };
  visit(root);
  return nodes.sort((a, b) => b.start - a.start);
}

/** `src/cli/start.ts` gives each file of the command line a function that imports for it. */
function importsFromOutside(): Plugin {
  return {
    name: 'imports-from-outside',
    renderChunk(code) {
      if (!code.includes('import(')) return null;
      let result = code;
      for (const { start } of found(parseAst(code), ({ type }) => type === 'ImportExpression'))
        result = `${result.slice(0, start)}__${result.slice(start)}`;
      return result;
    },
  };
}
