import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ClusterCoordinator } from '../../cluster/coordinator.ts';
import type { ClusterSettings } from '../../cluster/registry.ts';
import type { S3Credentials } from '../../cluster/s3-store.ts';
import type { VolleyConfig } from '../../config/config.ts';
import { notTrusted } from '../../config/trust.ts';
import { CLUSTER_KEY_VARIABLE } from '../../config/user-folder.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { VolleyError } from '../../core/errors.ts';
import { runningServers } from '../../server/server-record.ts';
import type { Io } from '../output/io.ts';
import { writeNote } from '../output/messages.ts';
import type { Session } from './session.ts';

const MIN_KEY_LENGTH = 16;
/** How long to wait for a worker before the absence of one is worth a note. */
const FIRST_WORKER_MS = 3000;

/** Where the cluster is. Throws if a setting is missing. */
export function clusterSettings(
  { cluster, folder, trust }: Pick<VolleyConfig, 'cluster' | 'folder' | 'trust'>,
  given: string | undefined,
  { env }: Pick<Io, 'env'>,
): ClusterSettings {
  const url = given ?? cluster.url;
  const waiting = trust.waiting.filter((setting) => setting.startsWith('cluster.'));
  if (url === undefined && waiting.includes('cluster.url'))
    throw notTrusted('To use the workers:', trust, waiting);
  if (url === undefined)
    throw new VolleyError(
      'INVALID_VALUE',
      'Name the Redis server of the cluster: --join redis://host:6379, or cluster.url in volley.toml.',
    );
  if (!/^rediss?:\/\/./.test(url))
    throw new VolleyError(
      'INVALID_VALUE',
      // It may contain a password.
      'The address of a cluster must start with redis:// or rediss://.',
    );
  const key = env[CLUSTER_KEY_VARIABLE] ?? '';
  if (key.length < MIN_KEY_LENGTH)
    throw new VolleyError(
      'CLUSTER_KEY_MISSING',
      `Set ${CLUSTER_KEY_VARIABLE} to a secret of at least ${MIN_KEY_LENGTH} characters, the same on all machines of the cluster. "openssl rand -hex 32" makes a good one.`,
    );
  const share = cluster.share ?? shareId(folder);
  const { prefix, artifacts } = cluster;
  return { url, prefix, key, share, artifacts, credentials: s3Credentials(env) };
}

/** Those that all tools for S3 use, under the same names. */
function s3Credentials(env: Io['env']): S3Credentials | undefined {
  const [accessKeyId, secretAccessKey] = [env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY']];
  if (!accessKeyId || !secretAccessKey) return undefined;
  const sessionToken = env['AWS_SESSION_TOKEN'] || undefined;
  return { accessKeyId, secretAccessKey, sessionToken, region: env['AWS_REGION'] || undefined };
}

/** A random id in the folder itself: who finds the same one sees the same files. */
function shareId(folder: string): string {
  const file = join(folder, '.volley', 'share-id');
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, randomBytes(16).toString('hex'), { flag: 'wx', mode: 0o644 });
  } catch {
    // It is there already, or this machine may only read.
  }
  try {
    const id = readFileSync(file, 'utf8').trim();
    if (/^[\da-f]{32}$/.test(id)) return id;
  } catch {
    // Nobody can share what has no id.
  }
  return randomBytes(16).toString('hex');
}

/** Becomes the coordinator of the workers. */
async function openCluster(
  config: VolleyConfig,
  url: string | undefined,
  io: Pick<Io, 'env'>,
  notify: (text: string) => void,
  owner?: string,
): Promise<ClusterCoordinator> {
  const settings = clusterSettings(config, url, io);
  const { ClusterCoordinator } = await import('../../cluster/coordinator.ts');
  const { placement } = config.cluster;
  return ClusterCoordinator.open(settings, { placement, notify, ...(owner !== undefined && { owner }) });
}

/**
 * Lets a long-lived process place its calls on the workers, if the configuration names a cluster. With an owner, it does so
 * when it leads the processes of that owner.
 */
export async function joinCluster(
  config: VolleyConfig,
  tools: ParallelToolCoordinator,
  io: Pick<Io, 'env'>,
  notify: (text: string) => void,
  owner?: string,
): Promise<ClusterCoordinator | undefined> {
  if (config.cluster.url === undefined) return undefined;
  const cluster = await openCluster(config, undefined, io, notify, owner);
  cluster.attach(tools);
  return cluster;
}

/**
 * Lets new tasks be checked for the workers of a cluster, if the command line or the configuration names one: they may
 * have more than this machine. Call it before tasks are added, and run them with `withCluster`.
 */
export async function expectWorkers(
  { config, coordinator }: Pick<Session, 'config' | 'coordinator'>,
  url: string | undefined,
): Promise<void> {
  if ((url ?? config.cluster.url) === undefined) return;
  const { WorkerPlacement } = await import('../../core/placement.ts');
  (await coordinator()).engine.usePlacement(new WorkerPlacement());
}

/**
 * Runs the work with the workers of a cluster, if the command line or the configuration names one. Batches then run in
 * this process. Only if a server runs on the same store, and no other cluster was named, that server runs them.
 */
export async function withCluster<T>(
  session: Session,
  url: string | undefined,
  io: Io,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  if ((url ?? session.config.cluster.url) === undefined) return work(session);
  // That server coordinates the workers of the configuration.
  if (url === undefined && (await runningServers(session.config.store.file)).length > 0) return work(session);
  return withWorkers(session, url, io, work);
}

/** Runs the work in this process, with the workers of a cluster. */
export async function withWorkers<T>(
  session: Session,
  url: string | undefined,
  io: Io,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  // On a terminal, notes would tear the live display.
  let isShown = true;
  const notify = (text: string) => {
    if (isShown || !io.stderr.isTTY) writeNote(text, io);
  };
  const cluster = await openCluster(session.config, url, io, notify);
  try {
    cluster.attach(await session.coordinator());
    if (!(await cluster.hasWorker(FIRST_WORKER_MS)))
      notify('No worker has joined yet. Tasks wait until one does: volley worker --join URL');
    isShown = false;
    return await work({ ...session, handle: (request) => session.executor.handle(request) });
  } finally {
    await session.executor.close();
    await cluster.close();
  }
}
