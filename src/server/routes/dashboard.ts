import { PAGE_HEADERS } from '../http/security-headers.ts';
import { type StaticFile, StaticFiles } from '../http/static-files.ts';
import type { ServerParts } from '../parts.ts';
import { type ApiContext, requestOf } from './api.ts';

const MISSING = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Volley</title>
<h1>The dashboard is not built</h1>
<p>The server runs, and its API answers. To have the dashboard too, run <code>npm run build</code> and load this page
again.</p>
</html>
`;

/** Serves the dashboard: everything that is not of the API. Undefined where there is no such file. */
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
