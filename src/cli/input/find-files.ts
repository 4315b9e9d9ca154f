import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { posix, resolve } from 'node:path';
import picomatch from 'picomatch';
import { VolleyError } from '../../core/errors.ts';
import { globProblem } from '../../core/glob.ts';
import { listText } from '../../core/words.ts';
import { isFile } from '../../tools/modules.ts';
import { isNegated } from '../../tools/pattern/path-patterns.ts';

/** A pattern that visits more was not meant. */
const MAX_ENTRIES = 500_000;
const MAX_FILES = 100_000;
const MAX_FOLDER_DEPTH = 64;
/** A line break in a name is a character like any other. */
const ANY_NAME = { flags: 's' };
/** Skipped by `**`, unless a pattern names them. */
const SKIPPED_FOLDERS = ['node_modules', '.git'];

/**
 * Finds the files that match, each once, sorted by path. Paths are relative to the folder unless the pattern is
 * absolute. A pattern with a leading `!` excludes files. Links to files count; links to folders are not followed.
 */
export async function findFiles(patterns: readonly string[], folder: string): Promise<string[]> {
  const [wanted, unwanted] = [patterns.filter((one) => !isNegated(one)), patterns.filter(isNegated)];
  for (const pattern of patterns) checkPattern(pattern);
  if (wanted.length === 0)
    throw templateError('All patterns begin with "!": add one that includes files.', { patterns });
  const isUnwanted = picomatch(
    unwanted.map((pattern) => tidy(pattern.slice(1))),
    { ...ANY_NAME, dot: true },
  );
  const files = new Set<string>();
  let excluded = 0;
  for (const pattern of wanted) {
    for (const file of await filesOf(pattern, folder)) {
      if (isUnwanted(file)) excluded++;
      else files.add(file);
      if (files.size > MAX_FILES) {
        throw templateError(
          `${quoted(pattern)} matches more than ${MAX_FILES} files. Make it more specific.`,
          {
            pattern,
          },
        );
      }
    }
  }
  if (files.size === 0) throw nothingFound(wanted, unwanted, excluded, folder);
  return [...files].sort();
}

async function filesOf(pattern: string, folder: string): Promise<string[]> {
  // A path that exists is taken literally: its name may contain glob characters.
  const found = await stat(resolve(folder, pattern)).catch(() => undefined);
  if (found?.isFile()) return [tidy(pattern)];
  if (found?.isDirectory()) {
    const inside = `${pattern.replace(/\/+$/, '')}/**/*`;
    throw templateError(`${quoted(pattern)} is a folder. Write ${quoted(inside)} for the files in it.`, {
      pattern,
    });
  }
  const { base, isGlob } = picomatch.scan(pattern);
  if (!isGlob) throw templateError(`There is no file ${quoted(pattern)} in ${folder}.`, { pattern, folder });
  return new GlobWalk(pattern, folder).walk(tidy(base));
}

/** Visits the folders in which a pattern can match. */
class GlobWalk {
  private readonly matches: (path: string) => boolean;
  private readonly maxDepth: number;
  private readonly skipped: ReadonlySet<string>;
  private readonly files: string[] = [];
  private visited = 0;

  constructor(
    private readonly pattern: string,
    private readonly folder: string,
  ) {
    const glob = tidy(pattern);
    this.matches = picomatch(glob, ANY_NAME);
    // Without `**`, a pattern matches at one depth only.
    this.maxDepth = glob.includes('**') ? MAX_FOLDER_DEPTH : glob.split('/').length;
    const named = glob.split('/');
    this.skipped = new Set(SKIPPED_FOLDERS.filter((name) => !named.includes(name)));
  }

  async walk(base: string): Promise<string[]> {
    await this.enter(base, base === '' ? 0 : base.split('/').length);
    return this.files;
  }

  private async enter(inside: string, depth: number): Promise<void> {
    const entries = await readdir(resolve(this.folder, inside), { withFileTypes: true }).catch(() => []);
    this.visited += entries.length;
    if (this.visited > MAX_ENTRIES) {
      throw templateError(
        `${quoted(this.pattern)} searches more than ${MAX_ENTRIES} files and folders. Start it in a subfolder.`,
        { pattern: this.pattern },
      );
    }
    for (const entry of entries) {
      const path = inside === '' ? entry.name : posix.join(inside, entry.name);
      if (entry.isDirectory()) {
        if (depth + 1 < this.maxDepth && !this.skipped.has(entry.name)) await this.enter(path, depth + 1);
      } else if (this.matches(path) && (await this.isFile(entry, path))) {
        this.files.push(path);
      }
    }
  }

  private async isFile(entry: Dirent, path: string): Promise<boolean> {
    if (entry.isFile()) return true;
    return entry.isSymbolicLink() && isFile(resolve(this.folder, path));
  }
}

/** Removes `./` and double slashes, so that a file has one name. */
function tidy(pattern: string): string {
  const path = pattern === '' ? '' : posix.normalize(pattern);
  return path === '.' ? '' : path.replace(/^\.\//, '').replace(/(?<=.)\/$/, '');
}

function checkPattern(pattern: string): void {
  const bare = isNegated(pattern) ? pattern.slice(1) : pattern;
  if (bare.trim() === '')
    throw templateError('A pattern is empty. Write one such as "src/**/*.ts".', { pattern });
  if (bare.includes('\0')) throw templateError(`${quoted(pattern)} contains a NUL character.`, { pattern });
  const problem = globProblem(bare) ?? globProblem(tidy(bare));
  if (problem !== undefined) throw templateError(`A pattern ${problem}.`, { length: bare.length });
}

function nothingFound(
  wanted: readonly string[],
  unwanted: readonly string[],
  excluded: number,
  folder: string,
): VolleyError {
  const what = listText(wanted.map(quoted));
  const skipped = SKIPPED_FOLDERS.filter((name) => !wanted.some((pattern) => pattern.includes(name)));
  const why =
    excluded > 0
      ? `${excluded} matched, but ${listText(unwanted.map(quoted))} excluded ${excluded === 1 ? 'it' : 'all of them'}`
      : `${listText([...skipped, 'hidden files'])} are skipped unless a pattern names them`;
  return templateError(`No file matches ${what} in ${folder} (${why}).`, { patterns: wanted, folder });
}

export function templateError(message: string, details: Record<string, unknown> = {}): VolleyError {
  return new VolleyError('INVALID_TEMPLATE', message, details);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
