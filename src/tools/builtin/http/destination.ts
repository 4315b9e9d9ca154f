import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { linearGlob } from '../../pattern/glob.ts';
import type { LinearPattern } from '../../pattern/regex.ts';
import type { HttpSettings } from '../environment.ts';
import { codeOf, quoted, refusal } from '../refusal.ts';
import { specialUseOf } from './addresses.ts';
import { requestFailed } from './failures.ts';

/** Tells the addresses of a host name. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export const resolveByTheSystem: Resolve = (host) => lookup(host, { all: true, verbatim: true });

/** What is wrong with the form of a URL, if anything. */
export function urlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return 'must be a whole URL such as https://example.com/path';
  const { protocol, username, password, hostname } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:')
    return `must begin with http:// or https://, not ${protocol}`;
  if (username !== '' || password !== '')
    return 'must not hold a user name or password: send a header instead';
  return hostname === '' ? 'must name a host' : undefined;
}

/** Decides where requests may go. */
export class Destinations {
  private hosts: readonly LinearPattern[] | undefined;

  constructor(
    private readonly settings: HttpSettings,
    private readonly resolve: Resolve,
  ) {}

  /**
   * The addresses to which a request to the URL may go. They are what is connected to, so that a name which means
   * something else a moment later changes nothing. One address that is not allowed refuses the host.
   */
  async addressesFor(url: URL): Promise<readonly LookupAddress[]> {
    const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
    this.hosts ??= this.settings.allowHosts.map((glob) => linearGlob(glob.toLowerCase()));
    if (!this.hosts.some((matcher) => matcher.test(host))) {
      throw notAllowed(`The host ${quoted(host)} is not one of those that may be asked`, { host });
    }
    const addresses = await this.addressesOf(host);
    if (this.settings.allowPrivate) return addresses;
    for (const { address } of addresses) {
      const use = specialUseOf(address);
      if (use === undefined) continue;
      const which =
        address === host ? `The address ${address}` : `The host ${quoted(host)} is at ${address}, which`;
      throw notAllowed(`${which} is ${use}: only public addresses may be asked`, { host, address });
    }
    return addresses;
  }

  private async addressesOf(host: string): Promise<readonly LookupAddress[]> {
    const family = isIP(host);
    if (family !== 0) return [{ address: host, family }];
    try {
      const addresses = await this.resolve(host);
      if (addresses.length > 0) return addresses;
    } catch (error) {
      const isUnknown = codeOf(error) === 'ENOTFOUND';
      throw requestFailed(`the host ${quoted(host)} has no address (${codeOf(error)})`, !isUnknown, error);
    }
    throw requestFailed(`the host ${quoted(host)} has no address`, false);
  }
}

function notAllowed(problem: string, details: Record<string, unknown>): Error {
  return refusal(
    'ADDRESS_NOT_ALLOWED',
    `${problem}. Use another, or change the settings of http_request.`,
    details,
  );
}
