import { VolleyError } from '../core/errors.ts';
import {
  ARTIFACT_NAME,
  type ArtifactServer,
  type ArtifactStore,
  isArtifact,
  MAX_ARTIFACT_BYTES,
  newArtifactName,
} from './artifact-store.ts';

/** What is larger does not go through the queue. */
const MAX_INLINE_BYTES = 65_536;
/** What is larger does not go through the Redis server, whose memory all calls share. */
const MAX_SERVER_BYTES = 4 * 2 ** 20;

/** Bytes that travel inside a message, as text if they are that; in the store that both sides share; or on the Redis server. */
export type Shipped =
  | { readonly text: string }
  | { readonly base64: string }
  | { readonly artifact: string; readonly isOnServer?: true };

/** Whose signal stops a transfer. It is looked at only if there is one, because signals of tasks are made on demand. */
interface Stoppable {
  readonly signal: AbortSignal;
}

/** What is too large for the queue. It is read once. */
export class Artifacts {
  /** What is being removed. Nobody waits for it, because the store may be slow. */
  private readonly removals = new Set<Promise<void>>();

  constructor(
    private readonly store: ArtifactStore | undefined,
    private readonly server: () => Promise<ArtifactServer>,
  ) {}

  async ship(content: string | Buffer, by?: Stoppable): Promise<Shipped> {
    const size = Buffer.byteLength(content);
    if (size <= MAX_INLINE_BYTES)
      return typeof content === 'string' ? { text: content } : { base64: content.toString('base64') };
    const { store } = this;
    const limit = store === undefined ? MAX_SERVER_BYTES : MAX_ARTIFACT_BYTES;
    if (size > limit) throw tooLarge(size, limit, store);
    const bytes = Buffer.from(content as string);
    const artifact = newArtifactName(bytes);
    const shipped: Shipped = store === undefined ? { artifact, isOnServer: true } : { artifact };
    try {
      await (store ?? (await this.server())).put(artifact, bytes, by?.signal);
    } catch (error) {
      // It may have arrived, only the answer has not.
      this.drop(shipped);
      throw error;
    }
    return shipped;
  }

  /** Returns the bytes. Throws if they are missing or not what was shipped. */
  async receive(shipped: Shipped, by?: Stoppable): Promise<Buffer> {
    if ('text' in shipped) return Buffer.from(shipped.text);
    if ('base64' in shipped) return Buffer.from(shipped.base64, 'base64');
    const { artifact } = shipped;
    // It comes from another machine: it must not name a file elsewhere.
    if (typeof artifact !== 'string' || !ARTIFACT_NAME.test(artifact)) throw missing(String(artifact));
    const bytes = await (await this.placeOf(shipped))?.get(artifact, by?.signal);
    if (bytes === undefined || !isArtifact(artifact, bytes)) throw missing(artifact);
    return bytes;
  }

  async receiveText(shipped: Shipped, by?: Stoppable): Promise<string> {
    return 'text' in shipped ? shipped.text : (await this.receive(shipped, by)).toString('utf8');
  }

  /** Removes what is no longer needed. */
  drop(shipped: Shipped | undefined): void {
    if (shipped === undefined || !('artifact' in shipped) || !ARTIFACT_NAME.test(shipped.artifact)) return;
    const removal = this.placeOf(shipped)
      .then((place) => place?.remove(shipped.artifact))
      // The server forgets it by itself, and the store is swept.
      .catch(() => {})
      .finally(() => this.removals.delete(removal));
    this.removals.add(removal);
  }

  /** Waits until what is no longer needed has been removed. */
  async dropped(): Promise<void> {
    await Promise.all(this.removals);
  }

  /** Removes what crashes have left in the store. The server forgets by itself. */
  async sweep(): Promise<void> {
    await this.store?.sweep();
  }

  private async placeOf({ isOnServer }: { readonly isOnServer?: true }): Promise<ArtifactServer | undefined> {
    return isOnServer ? this.server() : this.store;
  }
}

function tooLarge(bytes: number, limit: number, store: ArtifactStore | undefined): VolleyError {
  const remedy =
    store === undefined
      ? 'Set cluster.artifacts to a folder that coordinator and workers share, or to a bucket'
      : 'Send less';
  return new VolleyError(
    'CLUSTER_VALUE_TOO_LARGE',
    `There are ${bytes} bytes to send to another machine, but the limit is ${limit}. ${remedy}.`,
    { bytes, limit },
  );
}

function missing(artifact: string): VolleyError {
  return new VolleyError(
    'CLUSTER_ARTIFACT_MISSING',
    `The artifact ${artifact} is not there, or its content is different. Check that coordinator and workers have the same cluster.artifacts.`,
    { artifact },
  );
}
