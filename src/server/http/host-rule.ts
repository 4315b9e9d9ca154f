import { isIP } from 'node:net';
import { VolleyError } from '../../core/errors.ts';
import { show } from '../../core/numbers.ts';
import { isLoopback } from './client-address.ts';

const HOST = /^(\[[\da-f:.]+\]|[a-z\d._-]+)(?::\d{1,5})?$/i;

/**
 * Which names the server answers to. A foreign page can let its own name lead to this machine (DNS rebinding), and
 * would then be of the same origin as the server: its requests carry that name, and are refused.
 */
export class HostRule {
  /** In small letters; some with a port, which must then be that of the request. */
  private readonly names: ReadonlySet<string>;
  private readonly onlyLoopback: boolean;
  /** What was found right before: clients repeat themselves. */
  private lastAllowed: string | undefined;

  constructor(listensOn: string, allowedHosts: readonly string[]) {
    this.names = new Set(['localhost', listensOn, ...allowedHosts].map((host) => host.toLowerCase()));
    this.onlyLoopback = isLoopback(listensOn);
  }

  check(host: string | undefined): void {
    if (host !== undefined && host === this.lastAllowed) return;
    if (!this.isAllowed(host)) {
      throw new VolleyError(
        'HOST_NOT_ALLOWED',
        `The server does not go by the name ${show(host ?? '')}: call it by its address, or add the name to server.allowed_hosts.`,
      );
    }
    this.lastAllowed = host;
  }

  private isAllowed(host: string | undefined): boolean {
    const [whole, name] = HOST.exec(host?.toLowerCase() ?? '') ?? [];
    if (whole === undefined || name === undefined) return false;
    if (this.names.has(name) || this.names.has(whole)) return true;
    const address = name.startsWith('[') ? name.slice(1, -1) : name;
    return isIP(address) !== 0 && (!this.onlyLoopback || isLoopback(address));
  }
}
