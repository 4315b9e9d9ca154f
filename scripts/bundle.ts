import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import { type OutputBundle, type Plugin, rolldown } from 'rolldown';
import { parseAst } from 'rolldown/parseAst';
import { minifySync } from 'rolldown/utils';
import { scriptOfModule } from '../src/cli/script-of-module.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SOURCES = join(ROOT, 'src');

const COMMAND_LINE = 'cli/command-line';
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
  COMMAND_LINE,
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
const CHECKS = { ineffectiveDynamicImport: false, pluginTimings: false };

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
    plugins: [keepModuleUrls(outDir), onlyEnglish(), withoutFacades(), compact()],
  });
  const { output } = await build.write({
    dir: outDir,
    format: 'esm',
    chunkFileNames: 'chunks/[name].js',
    comments: false,
    codeSplitting: { groups: chunks() },
  });
  await build.close();
  await bundleStart(
    outDir,
    output.map((file) => (file.type === 'chunk' ? file.code : '')),
  );
  await writeFile(join(outDir, 'LICENSES.txt'), (await Promise.all(INLINED.map(licenseOf))).join('\n'));
  for (const asset of ASSETS) await cp(join(SOURCES, asset), join(outDir, asset));
  // npm does this where the package is installed. In the checkout itself `npx volley` needs it too.
  await chmod(join(outDir, 'cli/main.js'), 0o755);
}

/** `src/cli/start.ts` loads the bundled modules of the command line as scripts. */
async function bundleStart(outDir: string, code: readonly string[]): Promise<void> {
  const hash = createHash('sha256');
  for (const each of code) hash.update(each);
  const build = await rolldown({
    cwd: ROOT,
    platform: 'node',
    external: isExternal,
    input: { main: 'src/cli/start.ts' },
    transform: { define: { BUILD: JSON.stringify(hash.digest('hex').slice(0, 16)) } },
  });
  await build.write({ dir: join(outDir, 'cli'), format: 'esm', comments: false });
  await build.close();
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
  const server = loadedBy(['server/index']);
  const features = loadedBy(['tasks/run/feature-run']);
  const builtin = loadedBy(['tools/builtin/all']);
  const mcp = loadedBy(['cli/mcp/serve-mcp']);
  const fromLibrary = loadedBy(
    ENTRIES.filter((entry) => entry !== COMMAND_LINE && entry !== 'server/index'),
    [IMPORT, DYNAMIC_IMPORT],
  );
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
    of('status', (id) => status.has(id) && fromLibrary.has(id)),
    of('tools', (id) => library.has(id) && run.has(id)),
    of('library', (id) => library.has(id)),
    of('run', (id) => run.has(id) && fromLibrary.has(id)),
    // Apart from the rest of the server, which loads packages.
    of('builtin', (id) => server.has(id) && builtin.has(id)),
    of('shared', (id) => server.has(id) && fromLibrary.has(id)),
    of('holder', (id) => server.has(id) && (status.has(id) || run.has(id))),
    of('features', (id) => server.has(id) && features.has(id)),
    // Over stdio, the MCP server needs no HTTP server, metrics or traces.
    of('mcp', (id) => server.has(id) && mcp.has(id)),
    of('server', (id) => server.has(id)),
    of('status-command', (id) => status.has(id)),
    of('run-command', (id) => run.has(id)),
  ];
}

const IMPORT = /^(?:import|export) (?!type )(?:[^;]*? from )?'(\.[^']+)';/gm;

const DYNAMIC_IMPORT = /(?<!typeof )import\('(\.[^']+)'\)/g;

/** The modules that some modules load with them, or those that they load at any time. */
function loadedBy(modules: readonly string[], imports = [IMPORT]): ReadonlySet<string> {
  const found = new Set(modules.map((module) => join(SOURCES, `${module}.ts`)));
  for (const file of found) {
    const code = readFileSync(file, 'utf8');
    for (const each of imports)
      for (const [, from] of code.matchAll(each)) found.add(resolve(dirname(file), from!));
  }
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
    renderChunk(code, chunk, { dir }) {
      const up = relative(join(dir!, dirname(chunk.fileName)), outDir).replaceAll('\\', '/') || '.';
      return code.replaceAll(
        MODULE_URL,
        (_, path: string) => `new URL("${up}/${path}", import.meta.url).href`,
      );
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

interface ParentNode extends AstNode {
  readonly body?: unknown;
  readonly cases?: unknown;
  readonly consequent?: unknown;
  readonly local?: { readonly name?: string };
  readonly left?: { readonly name?: string };
  readonly argument?: { readonly name?: string };
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
    if ('type' in value && isWanted(value as AstNode)) nodes.push(value as AstNode);
    Object.values(value).forEach(visit);
  };
  visit(root);
  return nodes.sort((a, b) => b.start - a.start);
}

/**
 * Removes white space, but leaves each statement and member a line of its own, so that a stack trace and an uncaught error
 * show where it happened. Checks that `src/cli/start.ts` can load the modules of the command line.
 */
function compact(): Plugin {
  return {
    name: 'compact',
    generateBundle(_, files) {
      for (const [file, each] of Object.entries(files)) {
        if (each.type !== 'chunk') continue;
        const { code, errors } = minifySync(file, each.code, WHITESPACE);
        if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
        const nodes = found(parseAst(code), () => true);
        each.code = withLines(code, nodes);
        if (!each.isEntry || each.name === COMMAND_LINE) checkScript(file, each.code, nodes);
        if (isInCircle(file, files)) throw new Error(`${file} imports itself through others.`);
      }
    },
  };
}

const ASSIGNMENT = /^(Assignment|Update)Expression$/;
const IMPORT_NODE = /^(ImportExpression|MetaProperty)$/;
const WHITESPACE = { compress: false, mangle: false, codegen: { removeWhitespace: true } } as const;

/**
 * Puts lines apart, and escapes in strings what only looks like an import, and all but ASCII: text of one byte for each
 * character is read and compiled in less time.
 */
function withLines(code: string, nodes: readonly ParentNode[]): string {
  const imports = new Set(nodes.filter(({ type }) => IMPORT_NODE.test(type)).map(({ start }) => start));
  const inserts = new Map<number, string>();
  for (const { body, cases, consequent } of nodes)
    for (const { start } of [body, cases, consequent].filter(Array.isArray).flat() as AstNode[])
      if (start > 0) inserts.set(start, '\n');
  for (const { index } of code.matchAll(/import(?=\(|\.meta\.url)/g))
    if (!imports.has(index)) inserts.set(index + 'import'.length, '\\');
  let result = '';
  let end = 0;
  for (const [at, text] of [...inserts].sort(([a], [b]) => a - b)) {
    result += code.slice(end, at) + text;
    end = at;
  }
  return `${result}${code.slice(end)}`.replaceAll(/[^\0-\x7f]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function isInCircle(file: string, files: OutputBundle): boolean {
  const reached = new Set<string>();
  const importsOf = (name: string) => {
    const chunk = files[name];
    return chunk?.type === 'chunk' ? chunk.imports : [];
  };
  for (const name of importsOf(file)) reached.add(name);
  for (const name of reached) for (const next of importsOf(name)) reached.add(next);
  return reached.has(file);
}

/** A script takes what it imports once, so nothing that is exported may change afterwards. */
function checkScript(file: string, code: string, nodes: readonly ParentNode[]): void {
  new vm.Script(scriptOfModule(code), { filename: file });
  const exported = new Set(nodes.map(({ type, local }) => type === 'ExportSpecifier' && local?.name));
  for (const { type, left, argument } of nodes) {
    const name = ASSIGNMENT.test(type) && (left ?? argument)?.name;
    if (name && exported.has(name)) throw new Error(`${file} exports ${name} and changes it.`);
  }
}
