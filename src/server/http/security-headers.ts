import type { ServerResponse } from 'node:http';

/**
 * Set before Hono sees a request, so that refusals of the gate and plain reads have them too: its `secureHeaders` cannot.
 * Answers of the API are data: nothing of them is to be run, framed, embedded or kept by a browser.
 */
const API = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
} as const;

/** The same as alternating names and values, for writing all headers at once. */
export const API_HEADERS: readonly string[] = Object.entries(API).flat();

/** The dashboard runs only its own files and talks only to its own server. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Additional headers for pages. */
export const PAGE_HEADERS = {
  'Content-Security-Policy': PAGE_POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
} as const;

export function setSecurityHeaders(outgoing: ServerResponse): void {
  for (const [name, value] of Object.entries(API)) outgoing.setHeader(name, value);
}
