import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path';
import type { SyntaxNode } from '@lezer/common';
import { VolleyError } from '../core/errors.ts';
import { isInside } from '../tools/builtin/roots.ts';
import { findModules } from '../tools/modules.ts';
import type { TomlTable } from './environment.ts';
import { MISSING } from './trust-store.ts';

/** The files that a folder's configuration could run, and their hashes. */
export interface TrustedFiles {
  /** The hash of all files with their names in the folder: the same on another machine. */
  readonly hash: string;
  /** The hash of each file by its name in the folder. */
  readonly files: Readonly<Record<string, string>>;
  /** The same by absolute path; `MISSING` marks paths that would run if a file appeared. */
  readonly paths: ReadonlyMap<string, string>;
}

const MAX_FILES = 2000;
const MAX_FILE_BYTES = 16 * 2 ** 20;
const MAX_TOTAL_BYTES = 64 * 2 ** 20;
const MAX_MISSING = 40_000;
const SCRIPT = /\.[cm]?[jt]sx?$/;
/** A program may be a script without an extension; binary files contain a zero byte early on. */
const NO_EXTENSION = /(?:^|[\\/])[^\\/.]+$/;
/** The extensions that an import may omit. */
const ENDINGS = ['.js', '.json', '.node', '.cjs', '.mjs', '.ts', '.cts', '.mts'];
/** A cheap check: most scripts import no file of their own, and then no parser is loaded. */
const MAY_IMPORT = /['"`](?:\.|\\)/;

/**
 * Reads a configuration file, its modules with everything they import by a relative path, and every file of the folder
 * that the `waiting` settings name: in commands, in arguments, as a template.
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

/**
 * The files of a module and of what it imports by a relative path, with their hashes, by absolute path; `MISSING` marks
 * paths that it would load if a file appeared. Throws if they are too many or too large.
 */
export async function moduleFiles(path: string): Promise<ReadonlyMap<string, string>> {
  const collection = new Collection(dirname(path));
  collection.add(path);
  await collection.addImports();
  return collection.result().paths;
}

class Collection {
  private readonly files = new Map<string, string>();
  private readonly paths = new Map<string, string>();
  private readonly scripts: { readonly path: string; readonly text: string }[] = [];
  private bytes = 0;
  private missing = 0;

  constructor(private readonly folder: string) {}

  /** Hashes the parsed content, since the file may have changed, under its own name even if that is a link. */
  addConfig(file: string, bytes: Buffer): void {
    this.take(file, basename(file), bytes);
  }

  add(path: string): void {
    const real = realpathSync.native(path);
    if (!this.paths.has(real)) {
      const { size } = statSync(real);
      if (size > MAX_FILE_BYTES) throw tooMuch(`${real}, which is larger than 16 MB`);
      this.take(real, this.nameOf(real), readFileSync(real));
    }
    // A link may be redirected.
    this.paths.set(path, this.paths.get(real)!);
  }

  addMissing(path: string): void {
    this.files.set(this.nameOf(path), MISSING);
    this.addAbsent(path);
  }

  async addImports(): Promise<void> {
    for (let next = this.scripts.pop(); next !== undefined; next = this.scripts.pop()) {
      for (const specifier of await relativeImports(next.path, next.text)) {
        const targets = spellings(specifier).map((spelling) => resolve(dirname(next.path), spelling));
        const found = targets.map((target) => this.addImported(target));
        if (!found.includes(true)) this.addMissing(targets[0]!);
      }
    }
  }

  /**
   * Adds every file that an import may resolve to; the missing ones must not appear later. Returns whether one exists.
   */
  private addImported(target: string, isMain = false): boolean {
    if (isFile(target)) {
      this.add(target);
      return true;
    }
    const candidates = [target, ...ENDINGS.map((ending) => target + ending)];
    // The compiled name of a TypeScript file.
    if (/\.[cm]?js$/.test(target)) candidates.push(target.replace(/js$/, 'ts'));
    candidates.push(...ENDINGS.map((ending) => join(target, `index${ending}`)), join(target, 'package.json'));
    const files = candidates.filter(isFile);
    for (const path of candidates) {
      if (files.includes(path)) this.add(path);
      else this.addAbsent(path);
    }
    const main = isMain ? undefined : mainOf(join(target, 'package.json'));
    return (main !== undefined && this.addImported(resolve(target, main), true)) || files.length > 0;
  }

  private addAbsent(path: string): void {
    if (this.paths.has(path)) return;
    this.paths.set(path, MISSING);
    if (++this.missing > MAX_MISSING) throw tooMuch('too many missing files');
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
    const mayBeScript =
      SCRIPT.test(path) || (NO_EXTENSION.test(path) && !content.subarray(0, 8192).includes(0));
    if (mayBeScript) this.scripts.push({ path, text: content.toString('utf8') });
  }

  private nameOf(path: string): string {
    return relative(this.folder, path).split(sep).join('/');
  }
}

/** Calls whose first argument names a file: `require`, `require.resolve`, `createRequire(…)`. */
const CALLS = /^(?:module\??\.)?require(?:\??\.resolve)?$|^(?:\w+\.)?createRequire\(|^import\.meta\.resolve$/;
/** Uses of a URL that may point to code. */
const ADDRESSES = /^(?:URL|(?:\w+\.)?Worker)$/;
const CODE = /(?:\.[cm]?[jt]sx?|\.node|\.wasm)(?:[?#]|$)/;

/** What a script loads by a literal relative path. */
async function relativeImports(path: string, text: string): Promise<string[]> {
  if (!MAY_IMPORT.test(text)) return [];
  const { JAVASCRIPT, TSX, TYPESCRIPT } = await import('../tools/analysis/javascript.ts');
  const extension = extname(path);
  const isTypeScript = /ts/.test(extension);
  const { parser } = extension === '.tsx' ? TSX : isTypeScript ? TYPESCRIPT : JAVASCRIPT;
  const aliases = new Set(
    [...text.matchAll(/([\w$]+)\s*=\s*(?:\w+\.)?createRequire\s*\(/g)].map(([, name]) => name),
  );
  const found = new Set<string>();
  parser.parse(text).iterate({
    enter: ({ name, node }) => {
      const add = (place: SyntaxNode | null, isWanted: (specifier: string) => boolean = () => true) => {
        for (const specifier of stringsOf(place, text))
          if (/^\.\.?(\/|$)/.test(specifier) && isWanted(specifier)) found.add(specifier);
      };
      if (name === 'ImportDeclaration' || name === 'ExportDeclaration') {
        if (name === 'ImportDeclaration' || node.getChild('from')) add(node.getChild('String'));
      } else if (name === 'DynamicImport') add(node);
      else if (name === 'CallExpression' || name === 'NewExpression') {
        const list = node.getChild('ArgList');
        const callee = name === 'NewExpression' ? node.firstChild?.nextSibling : node.firstChild;
        const first = list?.firstChild?.nextSibling ?? null;
        const called = callee ? text.slice(callee.from, callee.to).replace(/\s+/g, '') : '';
        if (name === 'CallExpression' && (CALLS.test(called) || aliases.has(called))) add(first);
        if (name === 'NewExpression' && ADDRESSES.test(called)) add(first, (one) => CODE.test(one));
      }
    },
  });
  return [...found];
}

/** All string literals in a piece of code, unescaped; excludes those with a computed part. */
function stringsOf(place: SyntaxNode | null, text: string): string[] {
  const found: string[] = [];
  place?.cursor().iterate(({ name, node, from, to }) => {
    if (name === 'String' || (name === 'TemplateString' && !node.getChild('Interpolation')))
      found.push(unescaped(text.slice(from + 1, to - 1)));
  });
  return found;
}

function unescaped(literal: string): string {
  return literal.replace(
    /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]+)\}|([0-7]{1,3})|(\r\n|[\s\S]))/g,
    (_, x?: string, u?: string, braced?: string, octal?: string, other = '') => {
      const code =
        octal === undefined ? Number.parseInt(x ?? u ?? braced ?? '', 16) : Number.parseInt(octal, 8);
      if (!Number.isNaN(code)) return code <= 0x10ffff ? String.fromCodePoint(code) : '';
      return /^[\r\n\u2028\u2029]/.test(other) ? '' : other;
    },
  );
}

/** `require` takes a plain path, `import` a URL. */
function spellings(specifier: string): string[] {
  const path = specifier.replace(/[?#].*$/s, '');
  try {
    return [specifier, decodeURIComponent(path)];
  } catch {
    return [specifier, path];
  }
}

/** The entry file of a folder, if its package.json names one. */
function mainOf(file: string): string | undefined {
  try {
    const { main } = JSON.parse(readFileSync(file, 'utf8')) as { main?: unknown };
    return typeof main === 'string' ? main : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Files of the folder that these settings name, also within a command line or after a `=`. Skips environment values and
 * headers, which are mostly data.
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
          if (!isFile(path)) continue;
          if (isInside(path, folder) || isInside(realpathSync.native(path), real)) found.add(path);
        }
      }
    }
  }
  return found;
}

/** All strings in a value, or those under a certain key. */
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
