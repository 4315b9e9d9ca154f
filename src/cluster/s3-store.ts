import { setTimeout as sleep } from 'node:timers/promises';
import type { AwsV4Signer } from 'aws4fetch';
import { parseS3Address, type S3Address } from '../config/s3-address.ts';
import { VolleyError } from '../core/errors.ts';
import { reasonText } from '../core/words.ts';
import {
  ARTIFACT_NAME,
  type ArtifactStore,
  KEPT_IN_STORE_MS,
  MAX_ARTIFACT_BYTES,
  newArtifactName,
} from './artifact-store.ts';

/** Who may use a bucket, and the region it is in unless its address says so. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  readonly region?: string | undefined;
}

interface S3StoreOptions {
  /** How long one request may take. */
  readonly timeoutMs?: number;
  /** How long to wait before each further try. */
  readonly pausesMs?: readonly number[];
}

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** Of the object. None for the bucket. */
  readonly name?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** Of the body, or of nothing. */
  readonly hash?: string;
  readonly signal?: AbortSignal | undefined;
}

interface S3Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if it was larger than any artifact. */
  readonly body: Buffer | undefined;
}

const DEFAULT_REGION = 'us-east-1';
const TIMEOUT_MS = 60_000;
const PAUSES_MS = [250, 1000, 3000, 10_000] as const;
/** How long it may take to find out whether the bucket can be used. */
const CHECK_MS = 10_000;
const EMPTY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const HASH_LENGTH = 64;
/** The most pages of a listing, of 1000 keys each. */
const MAX_PAGES = 100;
const MAX_REASON = 300;
const PROBE = Buffer.from('volley');
/** The server is busy, or a part of it is away. */
const TRANSIENT = new Set([408, 425, 429]);

const CREDENTIALS = 'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.';
const REGION = 'Name the region of the bucket: cluster.artifacts = "s3://bucket/prefix?region=NAME".';
const REMEDIES: Readonly<Record<string, string>> = {
  NoSuchBucket: 'Create the bucket, or correct cluster.artifacts.',
  AccessDenied: 'It takes s3:GetObject, s3:PutObject and s3:DeleteObject on all objects with the prefix.',
  InvalidAccessKeyId: CREDENTIALS,
  SignatureDoesNotMatch: CREDENTIALS,
  ExpiredToken: CREDENTIALS,
  InvalidToken: CREDENTIALS,
  PermanentRedirect: REGION,
  AuthorizationHeaderMalformed: REGION,
};

/**
 * Artifacts in a bucket of S3-compatible storage. Buckets are part of the path, not of the host, which all servers
 * understand. The hash in the name of an artifact is signed, so the server refuses what was damaged on its way.
 */
export class S3Store implements ArtifactStore {
  /** How far the clock of the server is ahead. Signatures are valid for minutes, and the clock here may be wrong. */
  private aheadMs = 0;
  /** What went wrong with the last try. */
  private problem: string | undefined;
  private readonly timeoutMs: number;
  private readonly pausesMs: readonly number[];

  private constructor(
    private readonly Signer: typeof AwsV4Signer,
    private readonly address: S3Address,
    private readonly credentials: S3Credentials,
    { timeoutMs = TIMEOUT_MS, pausesMs = PAUSES_MS }: S3StoreOptions,
  ) {
    this.timeoutMs = timeoutMs;
    this.pausesMs = pausesMs;
  }

  static async open(
    place: string,
    credentials: S3Credentials | undefined,
    options: S3StoreOptions = {},
  ): Promise<S3Store> {
    const address = parseS3Address(place);
    if ('problem' in address)
      throw new VolleyError('INVALID_VALUE', `The address ${place} ${address.problem}.`);
    if (credentials === undefined)
      throw new VolleyError(
        'CLUSTER_ARTIFACTS_REFUSED',
        `The bucket ${address.bucket} of cluster.artifacts needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`,
        { bucket: address.bucket },
      );
    const { AwsV4Signer } = await import('aws4fetch').catch((error: unknown) => {
      throw new VolleyError(
        'CLUSTER_NOT_INSTALLED',
        `Artifacts in S3 need the package aws4fetch: npm install aws4fetch (${reasonText(error)})`,
      );
    });
    return new S3Store(AwsV4Signer, address, credentials, options);
  }

  async put(name: string, body: Buffer, signal?: AbortSignal): Promise<void> {
    const hash = name.slice(0, HASH_LENGTH);
    require2xx(this.address, await this.send({ method: 'PUT', name, body, hash, signal }));
  }

  async get(name: string, signal?: AbortSignal): Promise<Buffer | undefined> {
    const answer = await this.send({ method: 'GET', name, signal });
    if (answer.status === 404 && errorOf(answer).code !== 'NoSuchBucket') return undefined;
    return require2xx(this.address, answer).body;
  }

  async remove(name: string, signal?: AbortSignal): Promise<void> {
    const answer = await this.send({ method: 'DELETE', name, signal });
    if (answer.status !== 404) require2xx(this.address, answer);
  }

  async check(): Promise<void> {
    const name = newArtifactName(PROBE);
    const signal = AbortSignal.timeout(CHECK_MS);
    try {
      await this.put(name, PROBE, signal);
      const found = await this.get(name, signal);
      await this.remove(name, signal);
      if (found?.equals(PROBE) !== true)
        throw refused(this.address, 'it does not return what was written to it');
    } catch (error) {
      if (error instanceof VolleyError) throw error;
      throw unreachable(this.address, this.endpoint, this.problem ?? `no answer within ${CHECK_MS} ms`);
    }
  }

  async sweep(): Promise<void> {
    const { prefix } = this.address;
    let marker = '';
    for (let page = 0; page < MAX_PAGES; page++) {
      const answer = await this.send({ method: 'GET', query: { prefix, marker } });
      const { headers, body } = require2xx(this.address, answer);
      const text = body?.toString('utf8') ?? '';
      const before = Date.parse(headers.get('date') ?? '') - KEPT_IN_STORE_MS;
      const keys = Array.from(text.matchAll(/<Contents>(.*?)<\/Contents>/gs), ([, entry = '']) => ({
        key: tag(entry, 'Key') ?? '',
        writtenAt: Date.parse(tag(entry, 'LastModified') ?? ''),
      }));
      for (const { key, writtenAt } of keys) {
        const name = key.slice(prefix.length);
        if (ARTIFACT_NAME.test(name) && writtenAt < before) await this.remove(name);
      }
      marker = keys.at(-1)?.key ?? '';
      if (marker === '' || tag(text, 'IsTruncated') !== 'true') return;
    }
  }

  /** Sends a request, again if the server is away or busy. */
  private async send(request: S3Request): Promise<S3Answer> {
    let isSynchronized = false;
    for (let tries = 0; ; tries++) {
      const pauseMs = this.pausesMs[tries];
      try {
        const answer = await this.sendOnce(request);
        const { code, message } = errorOf(answer);
        const isSkewed = code === 'RequestTimeTooSkewed';
        if (isSkewed) this.aheadMs = Date.parse(answer.headers.get('date') ?? '') - Date.now() || 0;
        const isTransient = answer.status >= 500 || TRANSIENT.has(answer.status) || code === 'RequestTimeout';
        if (!isTransient && !(isSkewed && !isSynchronized)) return answer;
        isSynchronized ||= isSkewed;
        this.problem = `${code ?? `status ${answer.status}`}${message === undefined ? '' : `: ${message}`}`;
      } catch (error) {
        request.signal?.throwIfAborted();
        this.problem = networkReason(error);
      }
      if (pauseMs === undefined) throw unreachable(this.address, this.endpoint, this.problem);
      await sleep(pauseMs, undefined, { signal: request.signal });
    }
  }

  private async sendOnce({ method, name, query, body, hash, signal }: S3Request): Promise<S3Answer> {
    const { bucket, prefix } = this.address;
    const { accessKeyId, secretAccessKey, sessionToken } = this.credentials;
    const url = new URL(`/${bucket}${name === undefined ? '' : `/${prefix}${name}`}`, this.endpoint);
    for (const [key, value] of Object.entries(query ?? {})) url.searchParams.set(key, value);
    const signed = await new this.Signer({
      ...{ method, url: url.href, service: 's3', region: this.region },
      ...{ accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
      datetime: new Date(Date.now() + this.aheadMs).toISOString().replace(/[-:]|\.\d+/g, ''),
      headers: { 'x-amz-content-sha256': hash ?? EMPTY_HASH },
    }).sign();
    const controller = new AbortController();
    const stop = () => controller.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop);
    const { timeoutMs } = this;
    const timer = setTimeout(
      () => controller.abort(new Error(`no answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    try {
      const response = await fetch(signed.url, {
        method,
        headers: signed.headers,
        ...(body !== undefined && { body: body as Uint8Array<ArrayBuffer> }),
        // Where it leads is part of the signature.
        redirect: 'manual',
        signal: controller.signal,
      });
      const { status, headers } = response;
      return { status, headers, body: await limited(response) };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }

  private get region(): string {
    return this.address.region ?? this.credentials.region ?? DEFAULT_REGION;
  }

  private get endpoint(): URL {
    return this.address.endpoint ?? new URL(`https://s3.${this.region}.amazonaws.com`);
  }
}

/** Undefined if it is larger than any artifact. Not more than that is read. */
async function limited(response: Response): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ARTIFACT_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function require2xx(address: S3Address, answer: S3Answer): S3Answer {
  const { status, headers } = answer;
  if (status >= 200 && status < 300) return answer;
  const { code = `status ${status}`, message } = errorOf(answer);
  const region = headers.get('x-amz-bucket-region');
  const details = [message?.replace(/\.$/, ''), region && `it is in the region ${region}`].filter(Boolean);
  throw refused(address, `${code}${details.length === 0 ? '' : ` (${details.join('; ')})`}`, code);
}

function refused(address: S3Address, why: string, code = ''): VolleyError {
  const remedy = REMEDIES[code];
  return new VolleyError(
    'CLUSTER_ARTIFACTS_REFUSED',
    `The bucket ${address.bucket} of cluster.artifacts cannot be used: ${why}.${remedy === undefined ? '' : ` ${remedy}`}`,
    { bucket: address.bucket, ...(code !== '' && { reason: code }) },
  );
}

function unreachable({ bucket }: S3Address, endpoint: URL, why: string): VolleyError {
  return new VolleyError(
    'CLUSTER_ARTIFACTS_UNREACHABLE',
    `The storage of cluster.artifacts at ${endpoint.origin} does not answer as it should: ${why.replace(/\.$/, '')}.`,
    { bucket, endpoint: endpoint.origin },
  );
}

/** What the server says about an error. */
function errorOf({ status, body }: S3Answer): {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
} {
  if (status < 300 || body === undefined) return {};
  const text = body.toString('utf8');
  const code = tag(text, 'Code');
  return /^\w{1,64}$/.test(code ?? '') ? { code, message: tag(text, 'Message')?.slice(0, MAX_REASON) } : {};
}

/** The text of the first element of that name. None of those that are read here has others inside. */
function tag(text: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1];
}

/** What `fetch` says is only that it failed. */
function networkReason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return reasonText(cause);
}
