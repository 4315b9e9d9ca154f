import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path';
import { VolleyError } from '../core/errors.ts';
import { isInside } from '../tools/builtin/real-path.ts';
import { findModules } from '../tools/find-modules.ts';
import type { TomlTable } from './environment.ts';

/** The files that a folder's configuration could run, and their hash. */
export interface TrustedFiles {
  /** Of all files with their names in the folder: the same on another machine. */
  readonly hash: string;
  /** The hash of each file by its name in the folder. */
  readonly files: Readonly<Record<string, string>>;
  /** The same by absolute path, for those that exist. */
  readonly paths: ReadonlyMap<string, string>;
}

const MAX_FILES = 2000;
const MAX_FILE_BYTES = 16 * 2 ** 20;
const MAX_TOTAL_BYTES = 64 * 2 ** 20;
/** Takes the place of a hash, so that a file that appears later counts as a change. */
const MISSING = 'missing';
const SCRIPT = /\.[cm]?[jt]sx?$/;
/** What an import without an extension may mean, in the order in which `require` tries. */
const ENDINGS = ['', '.js', '.json', '.node', '.cjs', '.mjs', '.ts', '.cts', '.mts'];
/** Cheap to look for: most scripts import no file of their own, and then no parser is loaded. */
const MAY_IMPORT = /['"]\.\.?(?:\/|['"])/;

/**
 * Reads the file of a configuration, the modules that it names with everything that they import by a relative path,
 * and every file of the folder that `waiting` settings name: in commands, in arguments, as a template.
 */
export async function trustedFiles(
  config: { readonly file: string; readonly bytes: Buffer },
  folder: string,
  modules: readonly string[],
  waiting: readonly unknown[],
): Promise<TrustedFiles> {
  const collection = new Collection(realpathSync.native(folder));
  collection.addConfig(config.file, config.bytes);
  for (const pattern of modules) {
    const found = await findModules([pattern], folder).catch(() => undefined);
    if (found === undefined) collection.addMissing(resolve(folder, pattern));
    else for (const module of found) collection.add(module);
  }
  for (const path of namedFiles(waiting, folder)) collection.add(path);
  await collection.addImports();
  return collection.result();
}

class Collection {
  private readonly files = new Map<string, string>();
  private readonly paths = new Map<string, string>();
  private readonly scripts: { readonly path: string; readonly text: string }[] = [];
  private bytes = 0;

  constructor(private readonly folder: string) {}

  /** As it was parsed, for it may have changed since; and under its own name, even where that is a link. */
  addConfig(file: string, bytes: Buffer): void {
    this.take(file, basename(file), bytes);
  }

  add(path: string): void {
    const real = realpathSync.native(path);
    if (this.paths.has(real)) return;
    const { size } = statSync(real);
    if (size > MAX_FILE_BYTES) throw tooMuch(`${real}, which is larger than 16 MB`);
    this.take(real, this.nameOf(real), readFileSync(real));
  }

  addMissing(path: string): void {
    this.files.set(this.nameOf(path), MISSING);
  }

  async addImports(): Promise<void> {
    for (let next = this.scripts.pop(); next !== undefined; next = this.scripts.pop()) {
      for (const specifier of await relativeImports(next.path, next.text)) {
        const targets = spellings(specifier).map((spelling) => resolve(dirname(next.path), spelling));
        const found = targets.map(importedFile).find((file) => file !== undefined);
        if (found === undefined) this.addMissing(targets[0]!);
        else this.add(found);
      }
    }
  }

  result(): TrustedFiles {
    const entries = [...this.files].sort(([a], [b]) => (a < b ? -1 : 1));
    const hash = sha256(JSON.stringify(['volley trust 1', entries]));
    return { hash, files: Object.fromEntries(entries), paths: this.paths };
  }

  private take(path: string, name: string, content: Buffer): void {
    this.bytes += content.length;
    if (this.files.size >= MAX_FILES) throw tooMuch(`more than ${MAX_FILES} files`);
    if (this.bytes > MAX_TOTAL_BYTES) throw tooMuch('more than 64 MB of files');
    const hash = sha256(content);
    this.files.set(name, hash);
    this.paths.set(path, hash);
    if (SCRIPT.test(path)) this.scripts.push({ path, text: content.toString('utf8') });
  }

  private nameOf(path: string): string {
    return relative(this.folder, path).split(sep).join('/');
  }
}

/** What a script imports by a relative path that stands in it: `import`, `export … from`, `import('…')`, `require('…')`. */
async function relativeImports(path: string, text: string): Promise<string[]> {
  if (!MAY_IMPORT.test(text)) return [];
  const { JAVASCRIPT, TSX, TYPESCRIPT } = await import('../tools/analysis/javascript.ts');
  const extension = extname(path);
  const isTypeScript = /ts/.test(extension);
  const grammar = extension === '.tsx' ? TSX : isTypeScript ? TYPESCRIPT : JAVASCRIPT;
  const found = new Set<string>();
  grammar.parser.parse(text).iterate({
    enter: (node) => {
      if (!grammar.imports.has(node.name)) return;
      for (const specifier of grammar.importedBy(node.node, text))
        if (/^\.\.?(\/|$)/.test(specifier)) found.add(specifier);
    },
  });
  return [...found];
}

/** `require` takes a path as it stands, `import` as a part of an address. */
function spellings(specifier: string): string[] {
  const path = specifier.replace(/[?#].*$/s, '');
  try {
    return [specifier, decodeURIComponent(path)];
  } catch {
    return [specifier, path];
  }
}

function importedFile(target: string): string | undefined {
  const candidates = ENDINGS.map((ending) => target + ending);
  // A compiler's name for a TypeScript file, and what a folder stands for.
  if (/\.[cm]?js$/.test(target)) candidates.push(target.replace(/js$/, 'ts'));
  candidates.push(...ENDINGS.slice(1).map((ending) => join(target, `index${ending}`)));
  return candidates.find(isFile);
}

/**
 * Files of the folder that these settings name, also within a command line or after a `=`. What a program is told in its
 * environment or in headers is mostly data, and what lies in `.volley` is Volley's own.
 */
function namedFiles(values: readonly unknown[], folder: string): Set<string> {
  const found = new Set<string>();
  const real = realpathSync.native(folder);
  for (const value of values) {
    const bases = [folder, ...stringsIn(value, 'cwd').map((cwd) => resolve(folder, cwd))];
    for (const text of stringsIn(value)) {
      for (const word of new Set([text, ...text.split(/[\s'"`;&|<>()=]+/)])) {
        if (word === '' || word.length > 4096 || word.includes('\0')) continue;
        for (const base of bases) {
          const path = resolve(base, word);
          if (!isFile(path) || isInside(path, join(folder, '.volley'))) continue;
          if (isInside(path, folder) || isInside(realpathSync.native(path), real)) found.add(path);
        }
      }
    }
  }
  return found;
}

/** All strings of a value, or those under a certain key. */
function stringsIn(value: unknown, key?: string): string[] {
  if (typeof value === 'string') return key === undefined ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value as TomlTable).flatMap(([name, child]) => {
    if (name === 'env' || name === 'headers') return [];
    return stringsIn(child, name === key ? undefined : key);
  });
}

function isFile(path: string): boolean {
  try {
    return existsSync(path) && statSync(path).isFile();
  } catch {
    return false;
  }
}

function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

function tooMuch(what: string): VolleyError {
  return new VolleyError(
    'NOT_TRUSTED',
    `This folder could run ${what}, which is too much to review and approve.`,
  );
}
