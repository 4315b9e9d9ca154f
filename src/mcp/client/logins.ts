import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type {
  AuthProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { EnvironmentVariables } from '../../config/environment.ts';
import { readPrivateJson, writePrivateFile } from '../../config/private-file.ts';
import { userFolder } from '../../config/user-folder.ts';
import { VolleyError } from '../../core/errors.ts';
import { ProcessLock } from '../../store/process-lock.ts';
import { problemText } from './call-failure.ts';
import { loginFetch } from './login-fetch.ts';

/** A login at a server. It belongs to the address of the server: no other address ever gets its tokens. */
export interface Login {
  readonly url: string;
  readonly client: StoredOAuthClientInformation;
  readonly tokens: StoredOAuthTokens;
  /** When the access token ends, in milliseconds; undefined if the server did not say. */
  readonly expiresAt?: number;
  readonly resource?: string;
  /** Where the tokens came from, and where they are renewed: what was found at the login, and nothing else. */
  readonly discovery: OAuthDiscoveryState;
}

/** The logins of a user, one private file for each server, in the user's own folder. */
export class LoginStore {
  private readonly folder: string;

  constructor(env: EnvironmentVariables) {
    this.folder = join(userFolder(env), 'logins');
  }

  read(url: string): Login | undefined {
    const login = readPrivateJson(this.fileOf(url)) as Partial<Login> | undefined;
    // The name of the file is only a hash.
    const isWhole = login?.url === addressOf(url) && typeof login.tokens?.access_token === 'string';
    return isWhole ? (login as Login) : undefined;
  }

  write(login: Login): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const text = JSON.stringify({ ...login, url: addressOf(login.url) }, undefined, 2);
    writePrivateFile(this.fileOf(login.url), `${text}\n`);
  }

  /** Returns whether there was one. */
  remove(url: string): boolean {
    const hadOne = this.read(url) !== undefined;
    rmSync(this.fileOf(url), { force: true });
    return hadOne;
  }

  /** Between processes: a token that renews a login often works once. */
  lock(url: string): ProcessLock {
    return new ProcessLock(this.folder, hashOf(url));
  }

  private fileOf(url: string): string {
    return join(this.folder, `${hashOf(url)}.json`);
  }
}

/** An address without what a server does not see of it. */
function addressOf(url: string): string {
  const address = new URL(url);
  address.hash = '';
  return address.href;
}

function hashOf(url: string): string {
  return createHash('sha256').update(addressOf(url)).digest('hex').slice(0, 32);
}

/** A token that ends sooner than this is renewed before it is used. */
const MARGIN_MS = 30_000;
/** Requests that were refused while another renewed the login use what that one got. */
const JUST_RENEWED_MS = 5000;
/** How long other processes and the server may take to renew a login. */
const RENEWAL_MS = 60_000;

interface LoginUse {
  readonly server: string;
  readonly url: string;
  readonly logins: LoginStore;
  /** Called with each secret, so that it is never shown. */
  hide(secrets: readonly string[]): void;
}

/** The login of a server in use: gives its token to requests, and renews it. */
export class ServerLogin implements AuthProvider {
  private renewing: Promise<Login> | undefined;
  private renewedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly use: LoginUse) {}

  /** Asked before every request, and read anew: the user may log in or out at any time. */
  async token(): Promise<string | undefined> {
    const login = this.read();
    if (login === undefined) return undefined;
    const { expiresAt = Number.POSITIVE_INFINITY, tokens } = login;
    const isOver = expiresAt - MARGIN_MS < Date.now() && tokens.refresh_token !== undefined;
    return (isOver ? await this.renew(login) : login).tokens.access_token;
  }

  /** The server refused a request. */
  async onUnauthorized(): Promise<void> {
    const login = this.read();
    if (login === undefined) throw loginNeeded(this.use.server);
    if (this.renewing === undefined && performance.now() - this.renewedAt < JUST_RENEWED_MS) return;
    await this.renew(login);
  }

  /** The error of a token that is refused although it is new. */
  refused(): VolleyError {
    return loginNeeded(this.use.server, true);
  }

  private read(): Login | undefined {
    const { logins, url, hide } = this.use;
    const login = logins.read(url);
    if (login !== undefined) hide(secretsOf(login));
    return login;
  }

  private renew(login: Login): Promise<Login> {
    this.renewing ??= this.renewOnce(login)
      .then((renewed) => {
        this.renewedAt = performance.now();
        return renewed;
      })
      .finally(() => {
        this.renewing = undefined;
      });
    return this.renewing;
  }

  private async renewOnce(old: Login): Promise<Login> {
    const { server, url, logins } = this.use;
    const lock = logins.lock(url);
    const wait = { signal: AbortSignal.timeout(RENEWAL_MS), onWait: () => {} };
    const release = await lock.acquire('exclusive', wait);
    try {
      // Another process may have been faster.
      const login = this.read();
      if (login !== undefined && login.tokens.access_token !== old.tokens.access_token) return login;
      if (login?.tokens.refresh_token === undefined) throw loginNeeded(server);
      const renewed = await renewedLogin(login, server);
      this.use.hide(secretsOf(renewed));
      logins.write(renewed);
      return renewed;
    } finally {
      release();
      lock.close();
    }
  }
}

async function renewedLogin(login: Login, server: string): Promise<Login> {
  const { OAuthError, OAuthErrorCode, refreshAuthorization } = await import('@modelcontextprotocol/client');
  const { discovery, client, tokens, resource, url } = login;
  const { authorizationServerUrl, authorizationServerMetadata: metadata } = discovery;
  try {
    const renewed = await refreshAuthorization(authorizationServerUrl, {
      ...(metadata !== undefined && { metadata }),
      clientInformation: client,
      refreshToken: tokens.refresh_token!,
      ...(resource !== undefined && { resource }),
      fetchFn: loginFetch(url, AbortSignal.timeout(RENEWAL_MS)),
    });
    return { ...login, ...withEnd({ ...tokens, ...renewed }) };
  } catch (error) {
    const ended: readonly unknown[] = [
      OAuthErrorCode.InvalidGrant,
      OAuthErrorCode.InvalidClient,
      OAuthErrorCode.UnauthorizedClient,
    ];
    if (error instanceof OAuthError && ended.includes(error.code)) throw loginNeeded(server, true);
    throw new Error(`its login could not be renewed: ${problemText(error)}`, { cause: error });
  }
}

/** The tokens and when they end. */
export function withEnd(tokens: StoredOAuthTokens): Pick<Login, 'tokens' | 'expiresAt'> {
  const { expires_in: seconds } = tokens;
  return { tokens, ...(seconds !== undefined && { expiresAt: Date.now() + seconds * 1000 }) };
}

function secretsOf({ tokens, client }: Login): string[] {
  const { client_secret: secret } = client as { client_secret?: string };
  return [tokens.access_token, tokens.refresh_token, tokens.id_token, secret].filter(
    (text) => text !== undefined,
  );
}

/** Says which command logs in. */
function loginNeeded(server: string, hasEnded = false): VolleyError {
  const why = hasEnded ? 'needs a new login, because the last one has expired' : 'needs a login';
  return new VolleyError(
    'MCP_LOGIN_NEEDED',
    `The MCP server ${server} ${why}. Run: volley mcp login ${server}`,
    { server },
  );
}
