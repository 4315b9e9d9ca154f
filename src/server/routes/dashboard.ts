import { createHash } from 'node:crypto';
import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { gzipSync } from 'node:zlib';
import { PAGE_HEADERS } from '../http/security-headers.ts';
import { type ApiContext, requestOf } from './api.ts';
import type { ServerParts } from './parts.ts';

const MISSING = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Volley</title>
<h1>The dashboard is not built</h1>
<p>The server runs, and its API answers. To have the dashboard too, run <code>npm run build</code> and load this page
again.</p>
</html>
`;

/** Serves the dashboard: every path outside the API. Returns undefined for unknown files. */
export function dashboard({ webFolder }: ServerParts): (context: ApiContext) => Response | undefined {
  const files = new StaticFiles(webFolder);
  return (context) => {
    const { path } = context.req;
    const file = files.find(path);
    if (file === undefined) {
      if (path !== '/') return undefined;
      requestOf(context).route = '/';
      return answer(context, 503, { 'Content-Type': 'text/html; charset=utf-8' }, MISSING);
    }
    requestOf(context).route = file.isImmutable ? '/assets/*' : '/';
    return fileAnswer(context, file);
  };
}

function fileAnswer(context: ApiContext, { type, etag, body, gzipped, isImmutable }: StaticFile): Response {
  const { headers } = context.env.incoming;
  const caching = {
    ETag: etag,
    'Cache-Control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    Vary: 'Accept-Encoding',
  };
  if (headers['if-none-match'] === etag) return answer(context, 304, caching, null);
  const isZipped = gzipped !== undefined && /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''));
  return answer(
    context,
    200,
    { ...caching, 'Content-Type': type, ...(isZipped && { 'Content-Encoding': 'gzip' }) },
    isZipped ? gzipped : body,
  );
}

function answer(
  context: ApiContext,
  status: 200 | 304 | 503,
  headers: Readonly<Record<string, string>>,
  body: Buffer | string | null,
): Response {
  const bytes = body === null || typeof body === 'string' ? body : new Uint8Array(body);
  return context.body(bytes as never, status, { ...PAGE_HEADERS, ...headers });
}

/** A file as it is served. */
interface StaticFile {
  readonly type: string;
  readonly etag: string;
  readonly body: Buffer;
  /** Compressed, if that saves bytes. */
  readonly gzipped: Buffer | undefined;
  /** Whether its name contains a content hash, so that browsers can cache it forever. */
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
 * The files of the built dashboard. Request paths are looked up in a fixed list and never reach the file system, so there
 * is no path traversal. Hono's `serveStatic` resolves paths and has no entity tags.
 */
class StaticFiles {
  private paths: ReadonlyMap<string, string> | undefined;
  private readonly files = new Map<string, StaticFile>();

  constructor(private readonly folder: string) {}

  find(path: string): StaticFile | undefined {
    const name = path === '/' ? '/index.html' : path;
    const known = this.files.get(name);
    if (known !== undefined) return known;
    // An empty folder is read again, because it may be built at any time.
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

/** Returns files of known types by request path. */
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
