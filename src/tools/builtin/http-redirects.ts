import { urlProblem } from './http-destination.ts';
import { requestFailed } from './http-exchange.ts';
import { quoted } from './refusal.ts';

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const MAX_HEADERS = 64;
const MAX_BYTES = 16 * 1024;

/** Headers that control the transport or the destination, which callers may not set. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Headers that may be sent to another origin; an allow list, because secrets have too many names. */
const HARMLESS: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'content-language',
  'content-type',
  'user-agent',
]);

type Headers = Readonly<Record<string, string>>;

/** The invalid header of a caller, if any, and why. */
export function headersProblem(headers: Headers): { name?: string; problem: string } | undefined {
  const names = Object.keys(headers);
  if (names.length > MAX_HEADERS) return { problem: `must be at most ${MAX_HEADERS} headers` };
  const seen = new Set<string>();
  let bytes = 0;
  for (const name of names) {
    const problem = headerProblem(name, headers[name]!, seen);
    if (problem !== undefined) return { name, problem };
    seen.add(name.toLowerCase());
    bytes += name.length + headers[name]!.length;
  }
  return bytes > MAX_BYTES ? { problem: `must be at most ${MAX_BYTES} bytes together` } : undefined;
}

function headerProblem(name: string, value: string, seen: ReadonlySet<string>): string | undefined {
  const lower = name.toLowerCase();
  if (!NAME.test(name)) return 'is not a valid header name';
  if (OWN_HEADERS.has(lower) || lower.startsWith('proxy-')) return 'may not be set';
  if (seen.has(lower)) return 'stands twice';
  return VALUE.test(value)
    ? undefined
    : 'has a value with a line break or another character that is not allowed';
}

function harmlessOnly(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => HARMLESS.has(name.toLowerCase())));
}

function withoutContent(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !name.toLowerCase().startsWith('content-')),
  );
}

/** A request; a redirect turns one into the next. */
export interface HttpMessage {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | undefined;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The request that a response redirects to, if any. */
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
  if (!URL.canParse(location, from.href)) throw requestFailed(`it was ${where}, which is not a URL`, false);
  const url = new URL(location, from);
  const problem = urlProblem(url.href);
  if (problem !== undefined) throw requestFailed(`it was ${where}; a URL ${problem}`, false);
  if (from.protocol === 'https:' && url.protocol === 'http:') {
    throw requestFailed(`it was ${where}, which is not encrypted`, false);
  }
  if (url.hash === '') url.hash = from.hash;
  return url;
}
