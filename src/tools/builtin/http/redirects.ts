import { quoted } from '../refusal.ts';
import { urlProblem } from './destination.ts';
import { requestFailed } from './failures.ts';
import { type Headers, harmlessOnly, withoutContent } from './headers.ts';

/** What is sent; a redirect turns one into the next. */
export interface HttpMessage {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | undefined;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The request that an answer asks for, or undefined if it asks for none. */
export function redirected(
  message: HttpMessage,
  status: number,
  location: string | undefined,
): HttpMessage | undefined {
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const url = targetOf(message.url, location);
  const becomesGet =
    (status === 303 && message.method !== 'HEAD') || (status < 303 && message.method === 'POST');
  const headers = url.origin === message.url.origin ? message.headers : harmlessOnly(message.headers);
  return becomesGet
    ? { url, method: 'GET', headers: withoutContent(headers), body: undefined }
    : { ...message, url, headers };
}

function targetOf(from: URL, location: string): URL {
  const where = `redirected to ${quoted(location)}`;
  if (!URL.canParse(location, from.href)) throw requestFailed(`it was ${where}, which is no URL`, false);
  const url = new URL(location, from);
  const problem = urlProblem(url.href);
  if (problem !== undefined) throw requestFailed(`it was ${where}; a URL ${problem}`, false);
  if (from.protocol === 'https:' && url.protocol === 'http:') {
    throw requestFailed(`it was ${where}, which would not be encrypted any more`, false);
  }
  if (url.hash === '') url.hash = from.hash;
  return url;
}
