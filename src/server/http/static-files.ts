import { createHash } from 'node:crypto';
import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { gzipSync } from 'node:zlib';

/** A file as it is served. */
export interface StaticFile {
  readonly type: string;
  readonly etag: string;
  readonly body: Buffer;
  /** The same in fewer bytes, where that helps. */
  readonly gzipped: Buffer | undefined;
  /** Whether its name says what is in it, so that a browser need never ask again. */
  readonly isImmutable: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};
const COMPRESSIBLE = /^(text|application)\/|svg/;
const HASHED = /-[\w-]{8}\.\w+$/;
const MAX_FILES = 1000;

/**
 * The files of the built dashboard. A path is looked up among those that are there, and never becomes one of the file
 * system: whatever it holds, it leads nowhere else.
 */
export class StaticFiles {
  private paths: ReadonlyMap<string, string> | undefined;
  private readonly files = new Map<string, StaticFile>();

  constructor(private readonly folder: string) {}

  find(path: string): StaticFile | undefined {
    const name = path === '/' ? '/index.html' : path;
    const known = this.files.get(name);
    if (known !== undefined) return known;
    // A folder without files is looked at again: it may be built any moment.
    if (this.paths === undefined || this.paths.size === 0) this.paths = pathsIn(this.folder);
    const file = this.paths.get(name);
    if (file === undefined) return undefined;
    const loaded = load(file, name);
    this.files.set(name, loaded);
    return loaded;
  }
}

function load(file: string, name: string): StaticFile {
  const body = readFileSync(file);
  const type = TYPES[extname(name)]!;
  const gzipped = COMPRESSIBLE.test(type) ? gzipSync(body, { level: 9 }) : undefined;
  return {
    type,
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    body,
    gzipped: gzipped !== undefined && gzipped.length < body.length ? gzipped : undefined,
    isImmutable: name.startsWith('/assets/') && HASHED.test(name),
  };
}

/** Files by the path under which they are asked for; only of types that we know. */
function pathsIn(folder: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of entriesOf(folder)) {
    if (!entry.isFile() || TYPES[extname(entry.name)] === undefined || found.size === MAX_FILES) continue;
    const file = join(entry.parentPath ?? entry.path, entry.name);
    found.set(`/${relative(folder, file).split(sep).join('/')}`, file);
  }
  return found;
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch {
    return [];
  }
}
