import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const PREFIX = 'sha256:';

/** A new secret of 256 random bits. The word in front lets scanners and people recognise it. */
export function newSecret(kind: 'token' | 'key' | 'session'): string {
  return `volley_${kind}_${randomBytes(32).toString('base64url')}`;
}

/** What is kept of a secret. One round is enough: nobody guesses 256 random bits, however fast. */
export function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** A digest as it stands in files: `sha256:` and 64 hexadecimal digits. */
export function digestText(digest: Buffer): string {
  return PREFIX + digest.toString('hex');
}

export function digestFromText(text: string): Buffer {
  return Buffer.from(text.slice(PREFIX.length), 'hex');
}

/** Takes the same time wherever they differ. It reveals only whether their lengths do. */
export function isSameSecret(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Proves knowledge of a secret without revealing it. */
export function proofOf(secret: string, challenge: string): string {
  return createHmac('sha256', secret).update(`volley server ${challenge}`).digest('hex');
}
