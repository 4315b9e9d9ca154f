import type { LookupAddress } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import { linearGlob } from '../pattern/glob.ts';
import type { LinearPattern } from '../pattern/regex.ts';
import type { HttpSettings } from './environment.ts';
import { requestFailed } from './http-exchange.ts';
import { codeOf, quoted, refusal } from './refusal.ts';

/** IPv4 ranges outside the public internet, by purpose. */
const SPECIAL_V4: readonly (readonly [range: string, use: string])[] = [
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'shared by a carrier'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'reserved'],
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', 'reserved'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
];

/** The same for IPv6, where everything outside `2000::/3` is not public either. */
const SPECIAL_V6: readonly (readonly [range: string, use: string])[] = [
  ['::1/128', 'loopback'],
  ['::/128', 'unspecified'],
  ['fc00::/7', 'private'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'private'],
  ['ff00::/8', 'multicast'],
  ['2001:db8::/32', 'documentation'],
  ['3fff::/20', 'documentation'],
  // Teredo, benchmarking and other protocol assignments.
  ['2001::/23', 'reserved'],
  // 6to4: a tunnel to the embedded IPv4 address; obsolete.
  ['2002::/16', 'a tunnel'],
];

/** IPv6 forms whose last 32 bits are an IPv4 address, which then decides. */
const CARRIERS_OF_V4 = ['::ffff:', '::ffff:0:', '64:ff9b::', '::'];

type Family = 'ipv4' | 'ipv6';

interface Special {
  readonly use: string;
  readonly addresses: BlockList;
}

const V4 = SPECIAL_V4.map(([range, use]) => special('ipv4', range, use));
const V6 = SPECIAL_V6.map(([range, use]) => special('ipv6', range, use));
const CARRIED_V4 = SPECIAL_V4.flatMap(([range, use]) =>
  CARRIERS_OF_V4.map((prefix) => {
    const [address, length] = range.split('/') as [string, string];
    return special('ipv6', `${prefix}${address}/${96 + Number(length)}`, use);
  }),
);
const PUBLIC_V6 = [...CARRIERS_OF_V4.map((prefix) => `${prefix}0.0.0.0/96`), '2000::/3'].map((range) =>
  special('ipv6', range, 'public'),
);

function special(family: Family, range: string, use: string): Special {
  const [address, length] = range.split('/') as [string, string];
  const addresses = new BlockList();
  addresses.addSubnet(address, Number(length), family);
  return { use, addresses };
}

/** The purpose of an address, such as `loopback`; undefined if it is public. */
export function specialUseOf(address: string): string | undefined {
  // A zone such as %eth0 names an interface, not another destination.
  const plain = address.split('%', 1)[0]!;
  const family = isIP(plain);
  if (family === 0) return 'not an address';
  const find = (among: readonly Special[]) =>
    among.find(({ addresses }) => addresses.check(plain, `ipv${family as 4 | 6}`))?.use;
  if (family === 4) return find(V4);
  return find(V6) ?? find(CARRIED_V4) ?? (find(PUBLIC_V6) === undefined ? 'reserved' : undefined);
}

/** Resolves a host name. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export const resolveByTheSystem: Resolve = async (host) => {
  const { lookup } = await import('node:dns/promises');
  return lookup(host, { all: true, verbatim: true });
};

/** What is wrong with a URL, if anything. */
export function urlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return 'must be an absolute URL such as https://example.com/path';
  const { protocol, username, password, hostname } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:')
    return `must begin with http:// or https://, not ${protocol}`;
  if (username !== '' || password !== '')
    return 'must not contain a user name or password; send a header instead';
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
   * The addresses that a request to the URL may use. The connection uses exactly these, so a later change of the name
   * has no effect. A single disallowed address rejects the host.
   */
  async addressesFor(url: URL): Promise<readonly LookupAddress[]> {
    const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
    this.hosts ??= this.settings.allowHosts.map((glob) => linearGlob(glob.toLowerCase()));
    if (!this.hosts.some((matcher) => matcher.test(host))) {
      throw notAllowed(`The host ${quoted(host)} is not allowed`, { host });
    }
    const addresses = await this.addressesOf(host);
    if (this.settings.allowPrivate) return addresses;
    for (const { address } of addresses) {
      const use = specialUseOf(address);
      if (use === undefined) continue;
      const which =
        address === host ? `The address ${address}` : `The host ${quoted(host)} is at ${address}, which`;
      throw notAllowed(`${which} is ${use}; only public addresses are allowed`, { host, address });
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
