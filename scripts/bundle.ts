import { chmod, cp } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { parseAst } from 'rolldown/parseAst';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SOURCES = join(ROOT, 'src');

/** What is loaded by its path: by users, by the shell, by a new thread or process. Each keeps its place below `dist`. */
export const ENTRIES = [
  'index',
  'engine/index',
  'server/index',
  'tools/builtin/index',
  'cli/main',
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
 * Bundles `src`, and `extra` entries by their names, into `outDir`. What is imported dynamically stays a chunk of its own, so that a command loads what
 * it uses.
 */
export async function bundle(outDir: string, extra: Readonly<Record<string, string>> = {}): Promise<void> {
  const build = await rolldown({
    cwd: ROOT,
    platform: 'node',
    input: { ...Object.fromEntries(ENTRIES.map((entry) => [entry, `src/${entry}.ts`])), ...extra },
    external: isPackage,
    plugins: [keepModuleUrls()],
  });
  await build.write({
    dir: outDir,
    format: 'esm',
    chunkFileNames: 'chunks/[name].js',
    comments: false,
    // Everything loads these two, and they load no package.
    codeSplitting: {
      groups: ['core', 'engine'].map((layer) => ({ name: layer, test: `/src/${layer}/`, minShareCount: 2 })),
    },
  });
  await build.close();
  for (const asset of ASSETS) await cp(join(SOURCES, asset), join(outDir, asset));
  // npm does this where the package is installed. In the checkout itself `npx volley` needs it too.
  await chmod(join(outDir, 'cli/main.js'), 0o755);
}

const MODULE_URL = /__module_url__\("(.+?)"\)/g;

/** A module finds files by its own URL. In a chunk, `import.meta.url` still means the place of the module. */
function keepModuleUrls(): Plugin {
  return {
    name: 'keep-module-urls',
    transform(code, id) {
      if (!code.includes('import.meta.url')) return null;
      const path = relative(SOURCES, id).replaceAll('\\', '/').replace(/\.ts$/, '.js');
      let result = code;
      for (const { start, end } of moduleUrls(parseAst(code, { lang: 'ts' })).sort(
        (a, b) => b.start - a.start,
      )) {
        result = `${result.slice(0, start)}__module_url__("${path}")${result.slice(end)}`;
      }
      return result;
    },
    renderChunk(code, chunk) {
      const up = '../'.repeat(chunk.fileName.split('/').length - 1) || './';
      return code.replaceAll(
        MODULE_URL,
        (_, path: string) => `new URL("${up}${path}", import.meta.url).href`,
      );
    },
  };
}

interface AstNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** Where `import.meta.url` stands as code rather than in a string or a comment. */
function moduleUrls(value: unknown): AstNode[] {
  if (typeof value !== 'object' || value === null) return [];
  const node = value as AstNode & { object?: AstNode; property?: { name?: string } };
  const isModuleUrl =
    node.type === 'MemberExpression' && node.object?.type === 'MetaProperty' && node.property?.name === 'url';
  return isModuleUrl ? [node] : Object.values(node).flatMap(moduleUrls);
}
