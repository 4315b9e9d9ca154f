import { openArtifactStore } from './artifact-store.ts';
import { checkedNote, DEFAULT_TIMES, PROTOCOL_VERSION, type WorkerNote } from './protocol/messages.ts';
import { ClusterRegistry, type ClusterSettings, isRefusal, serverWarnings, unsuitable } from './registry.ts';
import { contentOf, parseMessage, Signer } from './signature.ts';
import { checkedOffer, nameOf, type WorkerOffer } from './work.ts';

const MAX_STRANGERS = 100;

/** A worker as people see it. */
interface ListedWorker
  extends Pick<WorkerOffer, 'capacity' | 'labels' | 'agents' | 'version' | 'host' | 'pid'> {
  readonly name: string;
  readonly session: string;
  /** An incompatible one speaks another version of the protocol than this process. */
  readonly state: 'ready' | 'draining' | 'silent' | 'incompatible';
  /** How many attempts it holds. */
  readonly running: number;
  readonly lastHeardMs: number;
}

/** The workers whose announcements have the right signature, by name. */
export interface WorkerList {
  readonly workers: readonly ListedWorker[];
  /** The names of those that have another key. Anybody who can write to the server may have made them up. */
  readonly strangers: readonly string[];
}

export async function listWorkers(settings: ClusterSettings): Promise<WorkerList> {
  const registry = await ClusterRegistry.connect(settings);
  try {
    const signer = new Signer(settings.key);
    const found: ListedWorker[] = [];
    const strangers: string[] = [];
    for (const { session, note, ageMs } of await registry.list()) {
      const message = signer.open(parseMessage(note), 'note', session, 0);
      if (message === undefined && ageMs <= DEFAULT_TIMES.leaseMs && strangers.length < MAX_STRANGERS)
        strangers.push(nameOf(session));
      const offer = signer.open(parseMessage(await registry.offer(session)), 'note', session, 0);
      if (message === undefined || offer === undefined) continue;
      const read = contentOf<WorkerNote & { protocol: number }>(message);
      const offered = checkedOffer(contentOf(offer));
      if (read === undefined || read.isGone || offered === undefined) continue;
      const known = read.protocol === PROTOCOL_VERSION ? checkedNote({ ...read, session }) : undefined;
      found.push({
        ...offered,
        // Another version may have other fields.
        ...(known === undefined && { capacity: {}, labels: {} }),
        name: nameOf(session),
        session,
        state: stateOf(known, ageMs),
        running: known?.held.length ?? 0,
        lastHeardMs: ageMs,
      });
    }
    const workers = found.sort((a, b) => a.name.localeCompare(b.name) || a.lastHeardMs - b.lastHeardMs);
    return { workers, strangers };
  } finally {
    registry.close();
  }
}

function stateOf(note: WorkerNote | undefined, ageMs: number): ListedWorker['state'] {
  if (ageMs > DEFAULT_TIMES.leaseMs) return 'silent';
  if (note === undefined) return 'incompatible';
  return note.isDraining ? 'draining' : 'ready';
}

export async function drainWorker(settings: ClusterSettings, name: string): Promise<void> {
  const registry = await ClusterRegistry.connect(settings);
  try {
    await registry.setDraining(name, true);
  } finally {
    registry.close();
  }
}

/** Checks the server and the store of artifacts. Returns what is risky about the server. Throws if they cannot be used. */
export async function checkCluster(settings: ClusterSettings): Promise<string[]> {
  const registry = await ClusterRegistry.connect(settings);
  try {
    await registry.tryOut();
    await openArtifactStore(settings);
    return await serverWarnings(registry.redis);
  } catch (error) {
    throw isRefusal(error) ? unsuitable(`it refuses a command: ${error.message}`) : error;
  } finally {
    registry.close();
  }
}
