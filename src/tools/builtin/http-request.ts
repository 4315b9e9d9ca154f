import { z } from 'zod';
import { RateLimitedError } from '../../engine/tool-failure.ts';
import { defineTool } from '../define-tool.ts';
import { retryAfterMs } from '../limit-text.ts';
import type { Tool } from '../tool.ts';
import type { HttpSettings, ToolEnvironment } from './environment.ts';
import { Destinations, resolveByTheSystem, urlProblem } from './http-destination.ts';
import { type Answer, bodyText, exchange, requestFailed, unlessAborted, within } from './http-exchange.ts';
import { type HttpMessage, headersProblem, redirected } from './http-redirects.ts';
import { memoryForMb } from './needs.ts';

/** So that the request's own timeout, which says more, expires before the engine's. */
const MARGIN_MS = 5000;

function inputWithin({ maxBytes, timeoutMs }: HttpSettings) {
  return z
    .strictObject({
      url: z
        .string()
        .max(8192)
        .superRefine((url, check) => {
          const problem = urlProblem(url);
          if (problem !== undefined) check.addIssue(problem);
        })
        .describe('The absolute URL, starting with http:// or https://.'),
      method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']).default('GET'),
      headers: z
        .record(z.string(), z.string())
        .default({})
        .superRefine((headers, check) => {
          const found = headersProblem(headers);
          if (found === undefined) return;
          const path = found.name === undefined ? [] : [found.name];
          check.addIssue({ code: 'custom', path, message: found.problem });
        })
        .describe('Headers to send, by name.'),
      body: z
        .string()
        .refine((body) => Buffer.byteLength(body) <= maxBytes, { error: `must be at most ${maxBytes} bytes` })
        .optional()
        .describe('The body to send. Set its type with the content-type header.'),
      timeout_ms: z
        .int()
        .min(1)
        .max(timeoutMs)
        .default(timeoutMs)
        .describe('How long the request may take, including redirects.'),
      max_bytes: z
        .int()
        .min(0)
        .max(maxBytes)
        .default(maxBytes)
        .describe('The most bytes of the response to read; the rest is cut off.'),
      wait_for_limit: z
        .boolean()
        .default(false)
        .describe(
          'Whether a 429, or a 503 with Retry-After, is not a result: requests to that host then wait and this one is sent again.',
        ),
      follow_redirects: z.boolean().default(true).describe('Whether redirects are followed.'),
    })
    .refine(({ method, body }) => body === undefined || (method !== 'GET' && method !== 'HEAD'), {
      path: ['body'],
      error: 'cannot be sent with GET or HEAD',
    });
}

type HttpRequestInput = z.infer<ReturnType<typeof inputWithin>>;

const OUTPUT = z.object({
  status: z.number(),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  body: z.string(),
  encoding: z.enum(['text', 'base64']).describe('Whether the body is text, or base64 because it is not.'),
  url: z.string().describe('The final URL.'),
  redirects: z.number().describe('The number of redirects.'),
  truncated: z.boolean().describe('Whether the limit truncated the body.'),
});

type HttpRequestResult = z.infer<typeof OUTPUT>;

/**
 * Sends a request to the public internet, or to wherever the settings allow. A tool is read-only and idempotent for all
 * its calls or for none, and a POST is neither; which failures may be retried is decided per request.
 */
export function httpRequestTool(
  environment: ToolEnvironment,
  resolve = resolveByTheSystem,
): Tool<HttpRequestInput, HttpRequestResult> {
  const settings = environment.http;
  const destinations = new Destinations(settings, resolve);
  return defineTool<HttpRequestInput, HttpRequestResult>({
    name: 'http_request',
    description: `Sends an HTTP request and returns the response: status, headers and body, at most ${settings.maxBytes} bytes. A status such as 404 or 500 is a result, not an error.`,
    input: inputWithin(settings),
    output: OUTPUT,
    readOnly: false,
    idempotent: false,
    timeoutMs: settings.timeoutMs + MARGIN_MS,
    resources: ({ max_bytes, body = '' }) => ({
      cpu: 0.1,
      memoryMb: memoryForMb(max_bytes + body.length),
      io: 'none',
      network: true,
    }),
    quota: ({ url }) => `host:${new URL(url).host}`,
    run: (input, { signal }) =>
      within(input.timeout_ms, signal, (limited) => send(input, settings, destinations, limited)),
  });
}

async function send(
  input: HttpRequestInput,
  settings: HttpSettings,
  destinations: Destinations,
  signal: AbortSignal,
): Promise<HttpRequestResult> {
  const { method, headers, body } = input;
  let message: HttpMessage = { url: new URL(input.url), method, headers, body };
  for (let redirects = 0; ; redirects++) {
    const addresses = await unlessAborted(signal, destinations.addressesFor(message.url));
    const answer = await exchange(message, addresses, input.max_bytes, signal);
    const next = input.follow_redirects
      ? redirected(message, answer.status, answer.headers.location)
      : undefined;
    if (next === undefined) {
      if (input.wait_for_limit) throwIfLimited(message.url, answer);
      return resultOf(message, answer, redirects);
    }
    if (redirects === settings.maxRedirects) {
      throw requestFailed(`it was redirected more than ${settings.maxRedirects} times`, false);
    }
    message = next;
  }
}

function throwIfLimited({ host }: URL, { status, headers }: Answer): void {
  const header = headers['retry-after'];
  if (status !== 429 && (status !== 503 || header === undefined)) return;
  const waitMs = retryAfterMs(header, Date.now());
  throw new RateLimitedError(`${host} answered ${status}`, {
    scope: `host:${host}`,
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
  });
}

function resultOf(
  message: HttpMessage,
  { status, headers, body }: Answer,
  redirects: number,
): HttpRequestResult {
  return {
    status,
    headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<
      string,
      string | string[]
    >,
    ...bodyText(body, headers['content-type']),
    url: message.url.href,
    redirects,
    truncated: body.truncated,
  };
}
