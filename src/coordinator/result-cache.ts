import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { VolleyConfig } from '../config/config.ts';
import { packageVersion } from '../config/package-version.ts';
import { MISSING } from '../config/trust-store.ts';
import { userSecret } from '../config/user-secret.ts';
import { VolleyError } from '../core/errors.ts';
import { reasonText } from '../core/words.ts';
import type { RunnerCall } from '../runners/runner.ts';
import { cacheProblem } from '../tools/cache-inputs.ts';
import type { CacheInputs, Tool } from '../tools/tool.ts';
import { canonicalJson, faithfulJson } from './identity.ts';
import type { InputReader } from './input-reader.ts';

/** Changes when keys are computed in another way. */
const FORMAT = 1;
/** Larger results are not cached: each is read and written whole. */
const MAX_CACHED_BYTES = 4 * 2 ** 20;
const DAY_MS = 24 * 3_600_000;
const MB = 2 ** 20;
/** The last use is recorded only if the recorded one is older than this. */
const USE_STEP_MS = 3_600_000;
/** After this share of the maximum size was added, the oldest entries are deleted. */
const TRIM_SHARE = 1 / 8;

/** A result that later calls may use instead of running. */
export interface CachedEntry {
  /** A hash of everything that the result depends on. */
  readonly key: Uint8Array;
  readonly function: string;
  readonly createdAt: number;
  /** Proves which user stored it. The store does not look at it. */
  readonly signature: Uint8Array;
  /** The result as JSON, in UTF-8. */
  readonly body: Uint8Array;
}

/** A stored entry. */
export interface StoredCachedEntry extends CachedEntry {
  readonly usedAt: number;
}

/** Where cached results are kept. Every `Store` is one. */
export interface CacheStore {
  /** A cached result, unless it is larger than `maxBytes`. */
  cachedResult(key: Uint8Array, maxBytes: number): Promise<StoredCachedEntry | undefined>;
  /** Stores results in the cache, in place of those with the same keys. */
  cacheResults(entries: readonly CachedEntry[]): Promise<void>;
  /** Records that cached results were used, for {@link trimCache}. */
  cacheUsed(keys: readonly Uint8Array[], at: number): Promise<void>;
  /**
   * Deletes cached results that were created before a time, and then the least recently used ones until all together
   * have at most `maxBytes`. Returns the number of deleted results.
   */
  trimCache(limits: { readonly createdAfter: number; readonly maxBytes: number }): Promise<number>;
}

/** `force` runs every call, and keeps the results for later ones. */
export type CacheMode = 'use' | 'force';

/** What an attempt returns if its result came from the cache. */
export class CachedResult {
  constructor(readonly json: string) {}

  get value(): unknown {
    return JSON.parse(this.json);
  }
}

/** What all caches of a coordinator share. */
export interface CacheParts {
  readonly config: VolleyConfig;
  readonly inputs: InputReader;
  readonly code: CodeVersions;
}

/**
 * Answers calls with results of earlier ones. The key of a result covers its function with its code, the arguments, roots,
 * limits and platform, and what the call reads. It is computed when an attempt starts, and again when it has ended: if
 * it differs, an input has changed meanwhile, and the result is not kept.
 *
 * Entries are signed with a secret of this user. So a store that came with a repository holds nothing that is believed.
 */
export class ResultCache {
  private readonly maxBytes: number;
  private readonly maxAgeMs: number;
  private secret: Buffer | undefined | 'unknown' = 'unknown';
  private added: CachedEntry[] = [];
  /** Results that are not written yet, by key. */
  private readonly unwritten = new Map<string, string>();
  private used: Uint8Array[] = [];
  private addedBytes = 0;
  private writing: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly store: CacheStore,
    private readonly mode: CacheMode,
    private readonly parts: CacheParts,
  ) {
    const { maxMb, maxAgeDays } = parts.config.cache;
    this.maxBytes = maxMb * MB;
    this.maxAgeMs = maxAgeDays * DAY_MS;
  }

  /** Returns the cached result of a call, or runs it and keeps its result. Whether it may run is checked before. */
  async through(
    tool: Tool,
    request: RunnerCall,
    signal: AbortSignal,
    run: () => Promise<unknown>,
  ): Promise<unknown> {
    const inputs = inputsOf(tool, request.input);
    const secret = this.secretOfUser();
    const before = inputs && secret && (await this.lookAt(tool, request, inputs, secret, signal));
    if (before === undefined || secret === undefined) return run();
    const { key, stamp } = before;
    const found = this.mode === 'force' ? undefined : await this.find(key, secret);
    if (found !== undefined) return found;
    const value = await run();
    const json = faithfulJson(value);
    if (json === undefined || json.length > MAX_CACHED_BYTES) return value;
    const after = await this.lookAt(tool, request, inputs!, secret, signal);
    if (after?.key.equals(key) && after.stamp === stamp) this.keep(tool.name, key, json, secret);
    return value;
  }

  /** Writes what is left, and deletes what is too old or too much. */
  async close(): Promise<void> {
    this.flush();
    if (this.addedBytes > 0) this.trim();
    await this.writing;
  }

  private secretOfUser(): Buffer | undefined {
    if (this.secret === 'unknown') this.secret = userSecret();
    return this.secret;
  }

  /** Undefined if the call cannot be cached: an input is outside the roots, too large, or cannot be read. */
  private async lookAt(
    tool: Tool,
    request: RunnerCall,
    inputs: CacheInputs,
    secret: Buffer,
    signal: AbortSignal,
  ): Promise<{ readonly key: Buffer; readonly stamp: string } | undefined> {
    const { tools, files } = this.parts.config;
    const { limits, sandbox, env } = request;
    try {
      const code = await this.parts.code.of(tool, signal);
      const said =
        code && canonicalJson([inputs.version ?? null, request.input, limits, env, files, tools.roots]);
      if (said === undefined) return undefined;
      const { content, stamp } = await this.parts.inputs.describe(inputs, signal);
      const policy = tool.isolation === 'process' ? [sandbox.mode, sandbox.network] : [];
      const key = sign(secret, [FORMAT, tool.name, tool.isolation, code, said, policy, PLATFORM, content]);
      return { key, stamp };
    } catch {
      signal.throwIfAborted();
      // The call itself reports what is wrong with its files.
      return undefined;
    }
  }

  private async find(key: Buffer, secret: Buffer): Promise<CachedResult | undefined> {
    const unwritten = this.unwritten.get(key.toString('hex'));
    if (unwritten !== undefined) return new CachedResult(unwritten);
    // Running the call answers too, if the store cannot.
    const entry = await this.store.cachedResult(key, MAX_CACHED_BYTES).catch(() => undefined);
    if (entry === undefined) return undefined;
    const now = Date.now();
    const signature = signatureOf(secret, key, entry.createdAt, entry.body);
    const isOurs = signature.length === entry.signature.length && timingSafeEqual(signature, entry.signature);
    if (!isOurs || entry.createdAt < now - this.maxAgeMs) return undefined;
    if (entry.usedAt < now - USE_STEP_MS) {
      this.soon();
      this.used.push(key);
    }
    return new CachedResult(Buffer.from(entry.body).toString('utf8'));
  }

  private keep(name: string, key: Buffer, json: string, secret: Buffer): void {
    const body = Buffer.from(json);
    if (body.length > Math.min(MAX_CACHED_BYTES, this.maxBytes)) return;
    const createdAt = Date.now();
    this.soon();
    this.added.push({
      key,
      function: name,
      createdAt,
      signature: signatureOf(secret, key, createdAt, body),
      body,
    });
    this.addedBytes += body.length;
    this.unwritten.set(key.toString('hex'), json);
  }

  /** All entries of one turn of the event loop are one write. */
  private soon(): void {
    if (this.added.length + this.used.length === 0) setImmediate(() => this.flush());
  }

  private flush(): void {
    const { added, used } = this;
    this.added = [];
    this.used = [];
    if (added.length > 0)
      this.write(async () => {
        await this.store.cacheResults(added).catch(() => undefined);
        for (const { key } of added) this.unwritten.delete(Buffer.from(key).toString('hex'));
      });
    if (used.length > 0) this.write(() => this.store.cacheUsed(used, Date.now()));
    if (this.addedBytes > this.maxBytes * TRIM_SHARE) this.trim();
  }

  private trim(): void {
    this.addedBytes = 0;
    const { maxBytes } = this;
    this.write(() => this.store.trimCache({ createdAfter: Date.now() - this.maxAgeMs, maxBytes }));
  }

  /** A cache that cannot be written is no reason to fail. The run reports problems of its store. */
  private write(work: () => Promise<unknown>): void {
    const written = work().catch(() => undefined);
    this.writing = Promise.all([this.writing, written]);
  }
}

/** Node's version stands for its locale data and regular expressions. */
const PLATFORM = [process.platform, process.arch, process.versions.node];

function sign(secret: Buffer, value: unknown): Buffer {
  return createHmac('sha256', secret).update(JSON.stringify(value)).digest();
}

/** Binds a result to its key and its age. */
function signatureOf(secret: Buffer, key: Uint8Array, createdAt: number, body: Uint8Array): Buffer {
  return createHmac('sha256', secret)
    .update('result')
    .update(key)
    .update(`${createdAt}\n`)
    .update(body)
    .digest();
}

/** Undefined if the tool does not want this call to be cached. */
function inputsOf(tool: Tool, input: unknown): CacheInputs | undefined {
  const { name, cache } = tool;
  if (typeof cache !== 'function') return cache;
  const invalid = (problem: string) =>
    new VolleyError('INVALID_TOOL', `Tool ${name}: ${problem}.`, { tool: name });
  let inputs: unknown;
  try {
    inputs = cache(input);
  } catch (error) {
    throw invalid(`its cache function threw: ${reasonText(error)}`);
  }
  if (inputs === undefined) return undefined;
  const problem = cacheProblem(inputs);
  if (problem !== undefined) throw invalid(problem);
  return inputs as CacheInputs;
}

interface LoadedModule {
  /** Hashes by path. */
  readonly files: ReadonlyMap<string, string>;
  readonly version: string;
}

/**
 * The versions of tools: Volley's own, and a hash of their code. What a process runs is loaded for each call. What runs
 * in this process or in its threads was loaded once, so it has no version if a file changed after this process began:
 * which of the two versions is in memory is not known.
 */
export class CodeVersions {
  private readonly texts = new WeakMap<Tool, string>();
  private readonly modules = new Map<string, Promise<LoadedModule>>();
  private volley: string | undefined;

  constructor(
    private readonly inputs: InputReader,
    private readonly loadedAt = performance.timeOrigin,
  ) {}

  /** Undefined if it is not known. */
  async of(tool: Tool, signal: AbortSignal): Promise<string | undefined> {
    this.volley ??= packageVersion();
    const { code, source } = tool;
    const url = code.kind === 'module' ? code.url : source;
    if (url === undefined) return `${this.volley} ${this.textHash(tool)}`;
    const entry = code.kind === 'module' ? code.exportName : '';
    if (!url.startsWith('file:')) return `${this.volley} ${url} ${entry}`;
    const isFresh = tool.isolation === 'process';
    const version = await this.moduleVersion(fileURLToPath(url), isFresh, signal);
    return version && `${this.volley} ${version} ${entry}`;
  }

  private textHash(tool: Tool): string {
    const known = this.texts.get(tool);
    if (known !== undefined) return known;
    const { code } = tool;
    const text = code.kind === 'source' ? code.text : Function.prototype.toString.call(tool.run);
    const hash = createHash('sha256').update(text).digest('hex');
    this.texts.set(tool, hash);
    return hash;
  }

  private async moduleVersion(
    path: string,
    isFresh: boolean,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    let loaded = await this.loaded(path);
    if (!(await this.isCurrent(loaded, signal))) {
      this.modules.delete(path);
      if (!isFresh) return undefined;
      loaded = await this.loaded(path);
      if (!(await this.isCurrent(loaded, signal))) return undefined;
    }
    return isFresh || !changedSince(loaded, this.loadedAt) ? loaded.version : undefined;
  }

  private loaded(path: string): Promise<LoadedModule> {
    let loading = this.modules.get(path);
    if (loading === undefined) {
      loading = loadFiles(path);
      this.modules.set(path, loading);
      loading.catch(() => this.modules.delete(path));
    }
    return loading;
  }

  private async isCurrent({ files }: LoadedModule, signal: AbortSignal): Promise<boolean> {
    for (const [path, hash] of files) if ((await this.inputs.codeHash(path, signal)) !== hash) return false;
    return true;
  }
}

async function loadFiles(path: string): Promise<LoadedModule> {
  // Loaded late: most calls are of built-in tools.
  const { moduleFiles } = await import('../config/trusted-files.ts');
  const files = await moduleFiles(path);
  const version = createHash('sha256')
    .update(JSON.stringify([...files].sort()))
    .digest('hex');
  return { files, version };
}

function changedSince({ files }: LoadedModule, at: number): boolean {
  return [...files].some(([path, hash]) => {
    if (hash === MISSING) return false;
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined || stats.ctimeMs > at;
  });
}
