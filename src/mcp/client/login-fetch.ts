import type { FetchLike } from '@modelcontextprotocol/client';
import { boundedFetch } from './bounded-fetch.ts';

/**
 * `fetch` for a login: over TLS, and to this machine only if the server is here, so that no server can make Volley
 * send requests to what listens here. Redirects are not followed, so that no secret goes where it was not sent.
 */
export function loginFetch(serverUrl: string, signal: AbortSignal): FetchLike {
  return (url, init) => {
    requireSafe(new URL(url), serverUrl);
    return boundedFetch(url, { ...init, redirect: 'error', signal });
  };
}

/** Whether a server can give a login: what is sent to it cannot be read on the way. */
export function canLogIn(serverUrl: string): boolean {
  const url = new URL(serverUrl);
  return url.protocol === 'https:' || isLoopback(url);
}

/** Throws if what is sent to an address could be read on the way, or if it is on this machine and the server is not. */
export function requireSafe(url: URL, serverUrl: string): void {
  const isHere = isLoopback(url);
  if (isHere && !isLoopback(new URL(serverUrl)))
    throw new Error(`${url.origin} is on this machine, but the server is not`);
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isHere)) return;
  throw new Error(`${url.origin} does not use https`);
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
