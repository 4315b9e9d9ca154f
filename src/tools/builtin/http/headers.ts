const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const MAX_HEADERS = 64;
const MAX_BYTES = 16 * 1024;

/** They say how the message itself is sent, or where, which is not the caller's to say. */
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

/** What another origin may see of a request that was meant for the first; keys have too many names to list those. */
const HARMLESS: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'content-language',
  'content-type',
  'user-agent',
]);

export type Headers = Readonly<Record<string, string>>;

/** What is wrong with a caller's headers, if anything, and with which. */
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
  if (!NAME.test(name)) return 'is no name of a header';
  if (OWN_HEADERS.has(lower) || lower.startsWith('proxy-')) return 'may not be set: the request decides it';
  if (seen.has(lower)) return 'stands twice';
  return VALUE.test(value)
    ? undefined
    : 'has a value with a line break or another character that is not allowed';
}

export function harmlessOnly(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => HARMLESS.has(name.toLowerCase())));
}

export function withoutContent(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !name.toLowerCase().startsWith('content-')),
  );
}
