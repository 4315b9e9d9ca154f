import { digestOf, isSameSecret, newSecret } from './secrets.ts';

/** Long enough to find the browser. */
const LIFETIME_MS = 3_600_000;
const MOST = 20;

/** Keys that are printed in an address and can be exchanged once for a session. */
export class OneTimeKeys {
  private keys: { readonly digest: Buffer; readonly expiresAt: number }[] = [];

  make(now: number): string {
    const key = newSecret('key');
    const kept = this.keys.filter(({ expiresAt }) => expiresAt > now).slice(1 - MOST);
    this.keys = [...kept, { digest: digestOf(key), expiresAt: now + LIFETIME_MS }];
    return key;
  }

  /** Whether it was a key; from now on it is none. */
  redeem(key: string, now: number): boolean {
    const digest = digestOf(key);
    const found = this.keys.filter((one) => isSameSecret(one.digest, digest));
    this.keys = this.keys.filter((one) => !found.includes(one));
    return found.some(({ expiresAt }) => expiresAt > now);
  }
}
