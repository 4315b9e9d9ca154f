import type { Redis } from 'ioredis';
import { VolleyError } from '../core/errors.ts';
import { reasonText } from '../core/words.ts';
import type { ArtifactServer } from './artifact-store.ts';
import { type BeatReply, DEFAULT_TIMES, PROTOCOL_VERSION, type ProtocolTimes } from './protocol/messages.ts';
import type { S3Credentials } from './s3-store.ts';

/** Where a cluster is, and how its parts prove that they belong to it. */
export interface ClusterSettings {
  /** `redis://user:password@host:port/0`, or `rediss://` for TLS. */
  readonly url: string;
  /** The start of all keys. Clusters with different prefixes share nothing. */
  readonly prefix: string;
  /** The secret with which messages are signed. */
  readonly key: string;
  /** Which files this machine has. Calls of tools that use files run only where it is the same. */
  readonly share: string;
  /** A folder that coordinator and workers share, or a bucket as `s3://bucket/prefix`, for what is too large for the queue. */
  readonly artifacts: string | undefined;
  /** Who may use that bucket. */
  readonly credentials?: S3Credentials | undefined;
}

/** What the registry has about a session, unchecked. */
export interface RegistryEntry {
  readonly session: string;
  readonly note: string;
  readonly ageMs: number;
}

/** Which of the processes of an owner coordinates: the one with the highest number. */
interface ClusterTurn {
  readonly owner: string;
  readonly turn: number;
}

const NO_TURN: ClusterTurn = { owner: '', turn: 0 };
const MAX_FENCED = 10_000;
const CONNECT_MS = 5000;
/** What nobody has fetched by then was left behind by a crash. */
const KEPT_ON_SERVER_MS = 3_600_000;
const MIN_VERSION = [6, 2];
/** The share of a lease after which a connection without answers is replaced, so that the lease can still be renewed. */
const SILENT_SHARE = 0.6;
/** The share of the memory in use above which a server is nearly full. */
const NEARLY_FULL = 0.9;

/**
 * All scripts start with the time of the server, the only clock that all parts share. A server whose memory is full refuses
 * a script at its first command that may need memory, but not after one that frees some. So what must go on with a full
 * server deletes something first: leases, heartbeats and outcomes, which replace or end what is there. New work waits.
 */
const NOW = `local t = redis.call('TIME'); local now = t[1] * 1000 + math.floor(t[2] / 1000); `;

const SCRIPTS = {
  /**
   * KEYS: epoch, holder, turn. ARGV: id, lease, owner, turn. An epoch is at least the time, so it grows even if data was
   * lost. The id of a coordinator that has an owner ends with it. Another one of that owner need not wait for its lease,
   * and is refused if its turn was an earlier one.
   */
  clusterAcquire: {
    numberOfKeys: 3,
    lua: `${NOW}
local holder = redis.call('GET', KEYS[2])
local isOwn = ARGV[3] ~= '' and holder and string.sub(holder, -#ARGV[3]) == ARGV[3]
if holder and holder ~= ARGV[1] and not isOwn then return {0, holder} end
if ARGV[3] ~= '' then
  if tonumber(redis.call('GET', KEYS[3]) or '0') > tonumber(ARGV[4]) then return {0, holder or ''} end
  redis.call('SET', KEYS[3], ARGV[4])
end
local epoch = math.max(tonumber(redis.call('GET', KEYS[1]) or '0') + 1, now)
redis.call('DEL', KEYS[2])
redis.call('SET', KEYS[1], string.format('%d', epoch))
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {epoch, ''}`,
  },
  /** KEYS: epoch, holder, notes, heard. ARGV: id, lease, own epoch. */
  clusterPoll: {
    numberOfKeys: 4,
    lua: `${NOW}
local epoch = tonumber(redis.call('GET', KEYS[1]) or '0')
if tonumber(ARGV[3]) >= epoch then
  epoch = tonumber(ARGV[3])
  redis.call('DEL', KEYS[2])
  redis.call('SET', KEYS[1], ARGV[3])
  redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
end
return {epoch, now, redis.call('HGETALL', KEYS[3]), redis.call('HGETALL', KEYS[4])}`,
  },
  /** KEYS: epoch, holder, notes, heard, offers, fenced, drain. ARGV: session, note, offer, own epoch, name. */
  clusterBeat: {
    numberOfKeys: 7,
    lua: `${NOW}
redis.call('HDEL', KEYS[3], ARGV[1])
local epoch = tonumber(redis.call('GET', KEYS[1]) or '0')
if tonumber(ARGV[4]) > epoch then
  epoch = tonumber(ARGV[4])
  redis.call('SET', KEYS[1], ARGV[4])
  redis.call('DEL', KEYS[2])
end
local coordinator = redis.call('EXISTS', KEYS[2])
if redis.call('ZSCORE', KEYS[6], ARGV[1]) then return {epoch, 1, 0, now, coordinator} end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[4], ARGV[1], string.format('%d', now))
redis.call('HSET', KEYS[5], ARGV[1], ARGV[3])
return {epoch, 0, redis.call('SISMEMBER', KEYS[7], ARGV[5]), now, coordinator}`,
  },
  /** KEYS: fenced, outcomes. ARGV: session, inbox, then keys and outcomes. What is stored is also published. */
  clusterReport: {
    numberOfKeys: 2,
    lua: `
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('HDEL', KEYS[2], '')
local outcomes = {}
for i = 3, #ARGV, 2 do
  redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
  outcomes[#outcomes + 1] = ARGV[i + 1]
end
redis.call('PUBLISH', ARGV[2], '[' .. table.concat(outcomes, ',') .. ']')
return 1`,
  },
  /** KEYS: epoch, notes, heard, offers, fenced, outcomes. ARGV: session, own epoch. Returns the outcomes. */
  clusterFence: {
    numberOfKeys: 6,
    lua: `${NOW}
if tonumber(redis.call('GET', KEYS[1]) or '0') > tonumber(ARGV[2]) then return false end
for i = 2, 4 do redis.call('HDEL', KEYS[i], ARGV[1]) end
redis.call('ZADD', KEYS[5], now, ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[5], 0, -${MAX_FENCED + 1})
return redis.call('HGETALL', KEYS[6])`,
  },
} as const;

type Script = (...args: (string | number)[]) => Promise<unknown>;
type Scripted = Redis & Record<keyof typeof SCRIPTS, Script>;

/** The keys and scripts of a cluster on its Redis server. Both sides use it; neither keeps state in it. */
export class ClusterRegistry {
  private constructor(
    readonly redis: Scripted,
    private readonly settings: ClusterSettings,
  ) {}

  /** Connects and checks the server. */
  static async connect(
    settings: ClusterSettings,
    { leaseMs }: ProtocolTimes = DEFAULT_TIMES,
  ): Promise<ClusterRegistry> {
    const { Redis } = await loadPackage(() => import('ioredis'));
    const redis = new Redis(settings.url, {
      lazyConnect: true,
      maxRetriesPerRequest: null,
      connectTimeout: CONNECT_MS,
      // A connection can be dead without an end that anybody sees.
      socketTimeout: silentMs(leaseMs),
      retryStrategy: () => null,
    });
    // Without a listener, an error of the connection would end the process. Commands report it.
    let problem: unknown;
    redis.on('error', (error) => {
      problem = error;
    });
    try {
      await redis.connect();
      await redis.ping();
      await checkServer(redis);
    } catch (error) {
      redis.disconnect();
      if (error instanceof VolleyError) throw error;
      const reason = reasonText(problem ?? error);
      // What the server says about it is only for authors of clients.
      const why = reason.startsWith('NOAUTH')
        ? 'it needs a login: name the user and the password in the address.'
        : reason;
      throw new VolleyError(
        'CLUSTER_UNREACHABLE',
        `The Redis server of the cluster at ${placeOf(settings.url)} cannot be used: ${why}`,
        { url: placeOf(settings.url) },
      );
    }
    // Later interruptions heal by themselves.
    redis.options.retryStrategy = (times) => Math.min(times * 50, 1000);
    for (const [name, script] of Object.entries(SCRIPTS)) redis.defineCommand(name, script);
    return new ClusterRegistry(redis as Scripted, settings);
  }

  /** A connection of its own with the same settings, for subscriptions and blocking reads. */
  duplicate(): Redis {
    const copy = this.redis.duplicate();
    copy.on('error', () => {});
    return copy;
  }

  close(): void {
    this.redis.disconnect();
  }

  key(name: string): string {
    return `${this.settings.prefix}:${name}`;
  }

  /** BullMQ puts this in front of all keys of queues. */
  get queuePrefix(): string {
    return `${this.settings.prefix}:q`;
  }

  /** Among the keys of the queue, so that both are found together. */
  private outcomesOf(session: string): string {
    return `${this.queuePrefix}:${session}:outcomes`;
  }

  /** The channel on which a worker gets requests. */
  channelOf(session: string): string {
    return this.key(`to:${session}`);
  }

  /** The channel on which the coordinator gets outcomes and progress. */
  get inbox(): string {
    return this.key('inbox');
  }

  /** Artifacts that are kept on the server. */
  readonly artifacts: ArtifactServer = {
    put: async (name, bytes) => {
      await this.redis.set(this.key(`artifact:${name}`), bytes, 'PX', KEPT_ON_SERVER_MS);
    },
    get: async (name) => (await this.redis.getBuffer(this.key(`artifact:${name}`))) ?? undefined,
    remove: async (name) => {
      await this.redis.del(this.key(`artifact:${name}`));
    },
  };

  /** Becomes the coordinator, or returns who is. */
  async acquire(
    id: string,
    leaseMs: number,
    { owner, turn }: ClusterTurn = NO_TURN,
  ): Promise<{ epoch: number; holder: string }> {
    const keys = ['epoch', 'holder', `turn:${owner}`].map((name) => this.key(name));
    const answer = await this.redis.clusterAcquire(...keys, id, leaseMs, owner, turn);
    const [epoch, holder] = answer as [number, string];
    if (epoch > 0) await this.redis.set(this.key('protocol'), PROTOCOL_VERSION).catch(() => {});
    return { epoch, holder };
  }

  /** The version of the protocol that the last coordinator speaks; undefined if it did not say. */
  async coordinatorProtocol(): Promise<number | undefined> {
    const text = await this.redis.get(this.key('protocol'));
    return text === null ? undefined : Number(text);
  }

  /** Does once what needs permissions. Throws if one is missing. */
  async tryOut(): Promise<void> {
    const probe = this.channelOf('probe');
    await this.redis.eval(`return redis.call('SET', KEYS[1], '1', 'PX', 1)`, 1, probe);
    await this.redis.publish(probe, '');
    const subscriber = this.duplicate();
    try {
      await subscriber.connect();
      await subscriber.subscribe(probe);
    } finally {
      subscriber.disconnect();
    }
  }

  /** Renews the coordinator's lease and reads all notes. */
  async poll(id: string, leaseMs: number, epoch: number) {
    const keys = ['epoch', 'holder', 'notes', 'heard'].map((name) => this.key(name));
    const answer = (await this.redis.clusterPoll(...keys, id, leaseMs, epoch)) as [
      number,
      number,
      string[],
      string[],
    ];
    const [newestEpoch, now, notes, heard] = answer;
    const heardAt = new Map(pairs(heard));
    const entries = pairs(notes).map(
      ([session, note]): RegistryEntry => ({
        session,
        note,
        ageMs: Math.max(0, now - Number(heardAt.get(session) ?? 0)),
      }),
    );
    return { newestEpoch, now, entries };
  }

  async beat(
    { session, name, epoch }: { session: string; name: string; epoch: number },
    note: string,
    offer: string,
  ): Promise<BeatReply & { readonly serverNow: number }> {
    const names = ['epoch', 'holder', 'notes', 'heard', 'offers', 'fenced', 'drain'];
    const keys = names.map((key) => this.key(key));
    const reply = (await this.redis.clusterBeat(...keys, session, note, offer, epoch, name)) as number[];
    const [newest = 0, isFenced, isDraining, serverNow = 0, hasCoordinator] = reply;
    return {
      epoch: newest,
      isFenced: isFenced === 1,
      isDraining: isDraining === 1,
      hasCoordinator: hasCoordinator === 1,
      serverNow,
    };
  }

  /**
   * Stores outcomes, each with its attempt, and notifies the coordinator. Returns false if it has given up the session.
   */
  async report(session: string, outcomes: readonly (readonly [string, string])[]): Promise<boolean> {
    const keys = [this.key('fenced'), this.outcomesOf(session)];
    return (await this.redis.clusterReport(...keys, session, this.inbox, ...outcomes.flat())) === 1;
  }

  /** The outcomes that are stored, each with its attempt. */
  async outcomes(session: string): Promise<[string, string][]> {
    return Object.entries(await this.redis.hgetall(this.outcomesOf(session)));
  }

  async dropOutcomes(session: string, keys: readonly string[]): Promise<void> {
    await this.redis.hdel(this.outcomesOf(session), ...keys);
  }

  /** Gives up a session and returns its outcomes; undefined if a newer coordinator is responsible. */
  async fence(session: string, epoch: number): Promise<[string, string][] | undefined> {
    const keys = ['epoch', 'notes', 'heard', 'offers', 'fenced'].map((name) => this.key(name));
    const found = await this.redis.clusterFence(...keys, this.outcomesOf(session), session, epoch);
    return found === null ? undefined : pairs(found as string[]);
  }

  /** Removes the outcomes of a session that has been given up. */
  async clear(session: string): Promise<void> {
    await this.redis.del(this.outcomesOf(session));
  }

  async note(session: string): Promise<string | null> {
    return this.redis.hget(this.key('notes'), session);
  }

  async offer(session: string): Promise<string | null> {
    return this.redis.hget(this.key('offers'), session);
  }

  /** Ends the coordinator's lease, if it has it. */
  async release(id: string): Promise<void> {
    const holder = this.key('holder');
    if ((await this.redis.get(holder)) === id) await this.redis.del(holder);
  }

  /** Reads all notes without being the coordinator. */
  async list(): Promise<RegistryEntry[]> {
    const [notes, heard, [seconds, micros]] = await Promise.all([
      this.redis.hgetall(this.key('notes')),
      this.redis.hgetall(this.key('heard')),
      this.redis.time(),
    ]);
    const now = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    return Object.entries(notes).map(([session, note]) => ({
      session,
      note,
      ageMs: Math.max(0, now - Number(heard[session] ?? 0)),
    }));
  }

  /** Asks a worker to drain, or takes the request back when the worker starts again. */
  async setDraining(name: string, isDraining: boolean): Promise<void> {
    if (isDraining) await this.redis.sadd(this.key('drain'), name);
    else await this.redis.srem(this.key('drain'), name);
  }

  /** The sessions that have a queue. */
  async queues(): Promise<string[]> {
    const found = new Set<string>();
    const start = `${this.queuePrefix}:`;
    let cursor = '0';
    do {
      const [next, keys] = await this.redis.scan(cursor, 'MATCH', `${escapeGlob(start)}*`, 'COUNT', 1000);
      cursor = next;
      for (const key of keys) found.add(key.slice(start.length).split(':')[0]!);
    } while (cursor !== '0');
    return [...found];
  }
}

/** Loads one of the packages that only clusters need. */
export async function loadPackage<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new VolleyError(
      'CLUSTER_NOT_INSTALLED',
      `A cluster needs the packages bullmq and ioredis: npm install bullmq ioredis (${reasonText(error)})`,
    );
  }
}

/** The URL without its password. */
function placeOf(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname}`;
  } catch {
    return 'the given URL';
  }
}

/** How long a connection may be silent although an answer is due. */
export function silentMs(leaseMs: number): number {
  return leaseMs * SILENT_SHARE;
}

/** Whether the server itself refused a command. Other errors are those of the connection. */
export function isRefusal(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** What is risky about a server that works otherwise. */
export async function serverWarnings(redis: Redis): Promise<string[]> {
  const info = await redis.info().catch(() => '');
  // Not every user may read the configuration.
  const fsync = (await redis.config('GET', 'appendfsync').catch(() => [])) as string[];
  const appends = field(info, 'aof_enabled');
  const [used, limit] = [Number(field(info, 'used_memory')), Number(field(info, 'maxmemory'))];
  return [
    ...(appends === '0'
      ? ['The server has no append-only file (appendonly no): if it crashes, running calls are lost.']
      : []),
    ...(appends === '1' && fsync[1] === 'no'
      ? [
          'The server does not flush its append-only file (appendfsync no): if its machine crashes, calls of the last half minute are lost.',
        ]
      : []),
    ...(field(info, 'aof_last_write_status') === 'err'
      ? ['The server could not write its append-only file: look at its disk.']
      : []),
    ...(limit > 0 && used > limit * NEARLY_FULL
      ? [
          `The server uses ${megabytes(used)} of ${megabytes(limit)} MB (maxmemory): when it is full, new calls wait.`,
        ]
      : []),
  ];
}

function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0);
}

function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
}

async function checkServer(redis: Redis): Promise<void> {
  const info = await redis.info();
  const [major = 0, minor = 0] = (field(info, 'redis_version') ?? '').split('.').map(Number);
  if (major < MIN_VERSION[0]! || (major === MIN_VERSION[0] && minor < MIN_VERSION[1]!))
    throw unsuitable(`it is version ${major}.${minor}, but ${MIN_VERSION.join('.')} is needed`);
  const policy = field(info, 'maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction')
    throw unsuitable(`its maxmemory-policy is ${policy}, which drops jobs when its memory is full`);
  if (field(info, 'role') === 'slave') throw unsuitable('it is a replica; name the primary server');
}

export function unsuitable(why: string): VolleyError {
  return new VolleyError(
    'CLUSTER_UNSUITABLE',
    `The Redis server is not suitable for a cluster: ${why.replace(/\.$/, '')}.`,
  );
}

function pairs(flat: readonly string[]): [string, string][] {
  const found: [string, string][] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) found.push([flat[at]!, flat[at + 1]!]);
  return found;
}

function escapeGlob(text: string): string {
  return text.replace(/[*?[\]\\]/g, '\\$&');
}
