import { signal } from '@preact/signals';
import { decoded } from './decoded.ts';
import { ApiError, get, post, whenSignedOut } from './http.ts';

export type Scope = 'read' | 'run' | 'admin';

export type Session =
  | { readonly state: 'unknown' }
  | { readonly state: 'in'; readonly scopes: readonly Scope[]; readonly project: string }
  | { readonly state: 'out'; readonly why: string };

const WRONG_KEY = 'This key is unknown, was used before or has expired.';

export const session = signal<Session>({ state: 'unknown' });

whenSignedOut(() => {
  if (session.value.state === 'in') session.value = { state: 'out', why: 'The session has ended.' };
});

export function may(scope: Scope): boolean {
  const { value } = session;
  return value.state === 'in' && value.scopes.includes(scope);
}

/** The key in an address that `volley serve` printed, or the bare key. */
export function keyIn(text: string): string | undefined {
  const fragment = text.includes('#') ? text.slice(text.indexOf('#') + 1) : text;
  const key = /^key=(.+)$/.exec(fragment.trim())?.[1] ?? (text.includes('#') ? undefined : fragment.trim());
  return key === undefined || key === '' ? undefined : decoded(key);
}

/** Takes the one-time key out of the address, before anything else can see it there, and trades it for a session. */
export async function begin(): Promise<void> {
  const key = location.hash.startsWith('#key=') ? keyIn(location.hash) : undefined;
  if (key !== undefined) {
    history.replaceState(null, '', `${location.pathname}${location.search}#/`);
    return signIn(key);
  }
  await check();
}

export async function signIn(key: string): Promise<void> {
  try {
    await post('session', { key });
    await check();
  } catch (error) {
    // A key works once. A user who opens the printed address again is often signed in already.
    const why = error instanceof ApiError && error.status !== 401 ? error.text : WRONG_KEY;
    await check();
    if (session.value.state === 'out') session.value = { state: 'out', why };
  }
}

/** Asks who we are. A server that cannot be reached says nothing about that. Answers whether it could. */
export async function check(): Promise<boolean> {
  try {
    const { scopes, project } = await get<{ scopes: Scope[]; project: string }>('session');
    session.value = { state: 'in', scopes, project };
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const isRefused = error.status === 401 || error.status === 403;
    if (session.value.state === 'unknown') session.value = { state: 'out', why: isRefused ? '' : error.text };
    else if (isRefused && session.value.state === 'in') session.value = { state: 'out', why: '' };
    return error.status !== 0;
  }
}
