import { learnTime } from './server-time.ts';
import type { Problem } from './wire.ts';

/** What the server, or the way to it, had to say against a request. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    title: string,
    readonly detail: string,
    /** What is wrong with fields of the body, by JSON pointers; those of arguments begin with `/params`. */
    readonly faults: ReadonlyMap<string, string> = new Map(),
  ) {
    super(title);
  }

  /** One line for people. */
  get text(): string {
    return this.detail === '' || this.detail === this.message ? this.message : this.detail;
  }
}

let signedOut = (): void => undefined;

/** What to do when an answer says that nobody is signed in. */
export function whenSignedOut(run: () => void): void {
  signedOut = run;
}

/** A list is a name that is repeated. */
type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** Addresses are relative to the page, so that it also works behind a path of a proxy. */
export function addressOf(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === 'object') for (const one of value) search.append(name, one);
    else if (value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? `v1/${path}` : `v1/${path}?${text}`;
}

/** The path of a batch or of one execution of it. */
export function batchPath(batch: string): string {
  return `batches/${encodeURIComponent(batch)}`;
}

export function executionPath(batch: string, id: string): string {
  return `executions/${encodeURIComponent(batch)}/${encodeURIComponent(id)}`;
}

export function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return send<T>(addressOf(path, query), signal === undefined ? {} : { signal });
}

/** `key`: what is sent again with the same one is done once. */
export function post<T>(path: string, body: unknown = {}, key?: string): Promise<T> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (key !== undefined) headers['idempotency-key'] = key;
  return send<T>(addressOf(path), { method: 'POST', headers, body: JSON.stringify(body) });
}

/** `crypto.randomUUID` is missing on pages that came over plain HTTP from another machine. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function send<T>(address: string, init: RequestInit): Promise<T> {
  let response: Response;
  let text: string;
  const askedAt = Date.now();
  try {
    response = await fetch(address, { credentials: 'same-origin', cache: 'no-store', ...init });
    learnTime(response.headers.get('date'), askedAt, Date.now());
    // The connection may also be lost in the middle of an answer.
    text = await response.text();
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, 'UNREACHABLE', 'The server cannot be reached.', '');
  }
  if (response.status === 401) signedOut();
  if (!response.ok) throw problemOf(response.status, text);
  return answerOf(response.status, text) as T;
}

/** What stands between may answer for the server: a proxy with a page of its own, for one. */
function answerOf(status: number, text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    throw new ApiError(status, 'UNKNOWN', 'The server gave an answer that is no JSON.', '');
  }
}

function problemOf(status: number, text: string): ApiError {
  try {
    const problem = JSON.parse(text) as Problem;
    const { title, detail, code } = problem;
    return new ApiError(
      status,
      code,
      title ?? `The server answered ${status}.`,
      detail ?? '',
      faultsOf(problem),
    );
  } catch {
    return new ApiError(status, 'UNKNOWN', `The server answered ${status}.`, '');
  }
}

function faultsOf({ errors = [], facts = {} }: Problem): ReadonlyMap<string, string> {
  const { issues } = facts as { issues?: readonly { readonly path: string; readonly rule: string }[] };
  return new Map([
    ...errors.map(({ pointer, detail }) => [pointer, detail] as const),
    ...(issues ?? []).map(({ path, rule }) => [`/params${path}`, rule] as const),
  ]);
}
