import { isIP } from 'node:net';

/** Ranges of IPv4 that are not somewhere on the public internet, by what they are for. */
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
  // Teredo, benchmarking and other protocols' own.
  ['2001::/23', 'reserved'],
  // 6to4: a tunnel to whatever IPv4 address stands in it; nobody offers it any more.
  ['2002::/16', 'a tunnel'],
];

/** Forms of IPv6 whose last 32 bits are an IPv4 address, which then decides. */
const CARRIERS_OF_V4 = ['::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96', '::/96'];

interface Range {
  readonly first: bigint;
  readonly shift: bigint;
  readonly use: string;
}

const RANGES_V4 = SPECIAL_V4.map(([range, use]) => rangeOf(range, use, 32));
const RANGES_V6 = SPECIAL_V6.map(([range, use]) => rangeOf(range, use, 128));
const CARRIERS = CARRIERS_OF_V4.map((range) => rangeOf(range, '', 128));
const GLOBAL_V6 = rangeOf('2000::/3', '', 128);

/** What an address is for, such as `loopback`; undefined if it is a public one. */
export function specialUseOf(address: string): string | undefined {
  // A zone such as %eth0 names a way out of this machine, not another place.
  const plain = address.split('%', 1)[0]!;
  const family = isIP(plain);
  if (family === 4) return useIn(RANGES_V4, numberOf(plain));
  if (family !== 6) return 'not an address';
  const value = numberOf(plain);
  const special = useIn(RANGES_V6, value);
  if (special !== undefined) return special;
  if (CARRIERS.some((range) => isIn(range, value))) return useIn(RANGES_V4, value & 0xffff_ffffn);
  return isIn(GLOBAL_V6, value) ? undefined : 'reserved';
}

function useIn(ranges: readonly Range[], value: bigint): string | undefined {
  return ranges.find((range) => isIn(range, value))?.use;
}

function isIn({ first, shift }: Range, value: bigint): boolean {
  return value >> shift === first;
}

function rangeOf(text: string, use: string, bits: number): Range {
  const [address, length] = text.split('/') as [string, string];
  const shift = BigInt(bits - Number(length));
  return { first: numberOf(address) >> shift, shift, use };
}

/** The number that a valid address stands for. */
function numberOf(address: string): bigint {
  if (!address.includes(':')) {
    return address.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n);
  }
  const [head, tail] = address.split('::') as [string, string | undefined];
  const before = groupsOf(head);
  const after = groupsOf(tail ?? '');
  const zeros = new Array<number>(8 - before.length - after.length).fill(0);
  return [...before, ...zeros, ...after].reduce((value, group) => (value << 16n) | BigInt(group), 0n);
}

function groupsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const value = Number(numberOf(group));
    return [value >>> 16, value & 0xffff];
  });
}
