import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { VolleyError } from '../../core/errors.ts';
import { spanText } from '../../core/words.ts';
import { problemText } from './call-failure.ts';
import { loginFetch, requireSafe } from './login-fetch.ts';
import { type Login, withEnd } from './logins.ts';

/** How long servers may take to answer, and the user to agree. */
const ANSWER_MS = 30_000;
const CONSENT_MS = 300_000;
const MAX_ANSWER_LENGTH = 4096;
const CALLBACK = '/callback';

/** A server that is asked for a login. */
export interface LoginServer {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What a server says to a request without a token. */
type Demand =
  | { readonly isNeeded: false; readonly status: number }
  | { readonly isNeeded: true; readonly resourceMetadataUrl?: URL; readonly scope?: string };

/** Asks a server whether it wants a login. */
export async function loginDemand({ url, headers }: LoginServer, signal?: AbortSignal): Promise<Demand> {
  const limit = AbortSignal.timeout(ANSWER_MS);
  const fetch = loginFetch(url, signal === undefined ? limit : AbortSignal.any([signal, limit]));
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  await response.body?.cancel();
  if (response.status !== 401) return { isNeeded: false, status: response.status };
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
  return {
    isNeeded: true,
    ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
    ...(scope !== undefined && { scope }),
  };
}

/**
 * Logs in at a server: with an authorization code and PKCE, for a client that is registered for this login. `show` gets
 * the address of the page on which the user agrees.
 */
export async function logIn(
  server: LoginServer,
  show: (address: string) => void,
  signal: AbortSignal,
): Promise<Login> {
  const { name, url } = server;
  let callback: Callback | undefined;
  try {
    requireSafe(new URL(url), url);
    const demand = await loginDemand(server, signal);
    if (!demand.isNeeded)
      throw new Error(`it does not ask for a login (it answered with status ${demand.status})`);
    callback = await Callback.open();
    const provider = new LoginProvider(callback.address, callback.state);
    const options = () => ({
      serverUrl: url,
      ...(demand.resourceMetadataUrl !== undefined && { resourceMetadataUrl: demand.resourceMetadataUrl }),
      ...(demand.scope !== undefined && { scope: demand.scope }),
      fetchFn: loginFetch(url, AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])),
    });
    await auth(provider, options());
    const page = provider.page;
    if (page === undefined) throw new Error('it named no login page');
    // It is opened in a browser: nothing but a page.
    requireSafe(page, url);
    show(page.href);
    const { code, iss } = await callback.answer(signal);
    await auth(provider, { ...options(), authorizationCode: code, ...(iss !== undefined && { iss }) });
    return provider.login(url);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const text = problemText(error).replace(/\.$/, '');
    throw new VolleyError(
      'MCP_LOGIN_FAILED',
      `Logging in to the MCP server ${name} failed: ${text}.`,
      { server: name },
      { cause: error },
    );
  } finally {
    callback?.close();
  }
}

/** What the SDK asks of a client that logs in once. Nothing is written before the login is complete. */
class LoginProvider implements OAuthClientProvider {
  page: URL | undefined;
  private verifier = '';
  private client: StoredOAuthClientInformation | undefined;
  private granted: StoredOAuthTokens | undefined;
  private discovery: OAuthDiscoveryState | undefined;
  private resource: string | undefined;

  constructor(
    readonly redirectUrl: string,
    private readonly secret: string,
  ) {}

  get clientMetadata() {
    return {
      client_name: 'Volley',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  state = () => this.secret;
  clientInformation = () => this.client;
  saveClientInformation = (client: StoredOAuthClientInformation) => {
    this.client = client;
  };
  tokens = () => this.granted;
  saveTokens = (tokens: StoredOAuthTokens) => {
    this.granted = tokens;
  };
  redirectToAuthorization = (page: URL) => {
    this.page = page;
  };
  saveCodeVerifier = (verifier: string) => {
    this.verifier = verifier;
  };
  codeVerifier = () => this.verifier;
  saveResourceUrl = (resource: string) => {
    this.resource = resource;
  };
  saveDiscoveryState = (state: OAuthDiscoveryState) => {
    this.discovery = state;
  };
  discoveryState = () => this.discovery;

  login(url: string): Login {
    const { client, granted, discovery, resource } = this;
    if (client === undefined || granted === undefined || discovery === undefined)
      throw new Error('it gave no token');
    return {
      url,
      client,
      ...withEnd(granted),
      ...(resource !== undefined && { resource }),
      discovery,
    };
  }
}

interface CallbackAnswer {
  readonly code: string;
  /** The issuer, if it says so itself. */
  readonly iss: string | undefined;
}

/** Where the browser brings the code: a port of this machine, for one answer that knows the secret of this login. */
class Callback {
  readonly state = randomBytes(32).toString('base64url');
  private resolve: (answer: CallbackAnswer) => void = () => {};
  private reject: (error: Error) => void = () => {};
  private readonly answered = new Promise<CallbackAnswer>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });

  private constructor(private readonly server: Server) {
    // It rejects for those who wait for it. There may be none yet.
    this.answered.catch(() => {});
    server.on('request', (request, response) => {
      const { status, text } = this.take(request.url ?? '/');
      response.writeHead(status, {
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        connection: 'close',
      });
      response.end(`${text}\n`);
    });
  }

  static async open(): Promise<Callback> {
    const server = createServer({ maxHeaderSize: 16_384, requestTimeout: ANSWER_MS });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new Callback(server);
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${CALLBACK}`;
  }

  async answer(signal: AbortSignal): Promise<CallbackAnswer> {
    const late = () => this.reject(new Error(`nobody approved the login within ${spanText(CONSENT_MS)}`));
    const timer = setTimeout(late, CONSENT_MS);
    const stop = () => this.reject(signal.reason);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    try {
      return await this.answered;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  close(): void {
    this.server.close();
    this.server.closeIdleConnections();
  }

  private take(path: string): { status: number; text: string } {
    const { pathname, searchParams } = new URL(path, 'http://127.0.0.1');
    if (pathname !== CALLBACK) return { status: 404, text: 'There is nothing here.' };
    // Anybody on this machine, and any page in the browser, can send something here.
    if (!isSame(searchParams.get('state') ?? '', this.state))
      return { status: 400, text: 'This does not belong to the pending login.' };
    const code = searchParams.get('code');
    if (code !== null && code !== '') {
      this.resolve({ code, iss: searchParams.get('iss') ?? undefined });
      return { status: 200, text: 'Volley has received your approval. You can close this page.' };
    }
    const why = searchParams.get('error_description') ?? searchParams.get('error') ?? 'it gave no code';
    this.reject(new Error(why.slice(0, MAX_ANSWER_LENGTH)));
    return {
      status: 200,
      text: 'The login failed. See the terminal for the reason. You can close this page.',
    };
  }
}

function isSame(given: string, expected: string): boolean {
  const [first, second] = [Buffer.from(given), Buffer.from(expected)];
  return first.length === second.length && timingSafeEqual(first, second);
}
