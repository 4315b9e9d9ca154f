import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** What a message is about. All of it is signed, so that a message is good for one purpose and one attempt only. */
export interface MessageScope {
  readonly kind: 'assignment' | 'outcome' | 'progress' | 'cancel' | 'recall' | 'note';
  /** The session of the worker; random, so that nothing of an earlier life can be repeated. */
  readonly session: string;
  /** The attempt, or empty. */
  readonly key: string;
  readonly epoch: number;
  /** By the clock of the server; 0 for never. */
  readonly expiresAt: number;
}

/** A message as it travels. The content is text, so that what is checked is exactly what was signed. */
export interface SignedMessage {
  readonly scope: MessageScope;
  readonly content: string;
  readonly mac: string;
}

/** Signs and checks messages with a key that coordinator and workers share. */
export class Signer {
  private readonly key: Buffer;

  constructor(secret: string) {
    this.key = createHash('sha256').update('volley cluster\0').update(secret).digest();
  }

  sign(scope: MessageScope, content: string): SignedMessage {
    return { scope, content, mac: this.macOf(scope, content) };
  }

  /** Returns the message if it is of that kind and session, intact and not expired; undefined otherwise. */
  open(
    value: unknown,
    kind: MessageScope['kind'],
    session: string | undefined,
    serverNow: number,
  ): SignedMessage | undefined {
    if (!isMessage(value)) return undefined;
    const { scope, content, mac } = value;
    if (scope.kind !== kind || (session !== undefined && scope.session !== session)) return undefined;
    const [given, expected] = [Buffer.from(mac, 'hex'), Buffer.from(this.macOf(scope, content), 'hex')];
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    return scope.expiresAt !== 0 && scope.expiresAt < serverNow ? undefined : value;
  }

  private macOf({ kind, session, key, epoch, expiresAt }: MessageScope, content: string): string {
    // A list as JSON, so that no two different scopes have the same text.
    const text = JSON.stringify([kind, session, key, epoch, expiresAt, content]);
    return createHmac('sha256', this.key).update(text).digest('hex');
  }
}

function isMessage(value: unknown): value is SignedMessage {
  if (typeof value !== 'object' || value === null) return false;
  const { scope, content, mac } = value as Partial<SignedMessage>;
  if (typeof scope !== 'object' || scope === null) return false;
  if (typeof content !== 'string' || typeof mac !== 'string') return false;
  const { session, key, epoch, expiresAt } = scope;
  return (
    [session, key].every((text) => typeof text === 'string') && [epoch, expiresAt].every(Number.isFinite)
  );
}

/** Parses JSON that anybody may have written. */
export function parseMessage(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/** The content of a message, if it is an object. Whoever has the key can still send anything as its fields. */
export function contentOf<T extends object>(message: SignedMessage | undefined): Partial<T> | undefined {
  const content = parseMessage(message?.content);
  return typeof content === 'object' && content !== null ? (content as Partial<T>) : undefined;
}
