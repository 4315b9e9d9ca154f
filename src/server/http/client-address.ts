import { isIPv6 } from 'node:net';

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** The last result: most requests come from the same few clients. */
let last: { readonly remote: string | undefined; readonly address: string } | undefined;

/** The address by which limits count a client. For IPv6 it is the network, because one client has a whole one. */
export function clientAddress(remote: string | undefined): string {
  if (last === undefined || last.remote !== remote) last = { remote, address: addressOf(remote) };
  return last.address;
}

function addressOf(remote: string | undefined): string {
  if (remote === undefined) return 'unknown';
  const mapped = MAPPED.exec(remote);
  if (mapped !== null) return mapped[1]!;
  if (!isIPv6(remote) || remote === '::1') return remote;
  const [head = '', tail] = remote.split('%')[0]!.split('::');
  const first = head.split(':').filter((group) => group !== '');
  const last = tail?.split(':').filter((group) => group !== '') ?? [];
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array<string>(zeros).fill('0'), ...last];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

/** Whether an address to listen on can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
