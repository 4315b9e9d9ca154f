import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { BatchExecutor } from '../batch/batch-executor.ts';
import type { VolleyConfig } from '../config/config.ts';
import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import { VolleyError } from '../core/errors.ts';
import { reasonText } from '../core/words.ts';
import { discoveredTools } from '../mcp/open-coordinator.ts';
import { BatchNews } from '../mcp/server/batch-news.ts';
import { McpHttp } from '../mcp/server/http/mcp-http.ts';
import type { Store } from '../store/store.ts';
import { locateTasks } from '../tasks/files/task-folder.ts';
import { FeatureService } from '../tasks/run/feature-service.ts';
import { createApp } from './app.ts';
import { Authenticator } from './auth/authenticator.ts';
import { SessionCookie } from './auth/cookie.ts';
import { OneTimeKeys } from './auth/one-time-keys.ts';
import { newSecret, proofOf } from './auth/secrets.ts';
import { clearSessionFiles, removeSessionFile, sessionFile } from './auth/session-files.ts';
import { Sessions } from './auth/sessions.ts';
import { TokenTable } from './auth/token-table.ts';
import { LiveBatches, type LiveBatchesOptions } from './events/live-batches.ts';
import { BatchReads } from './http/batch-reads.ts';
import { ClientStreams } from './http/client-streams.ts';
import { Gate } from './http/gate.ts';
import { HostRule } from './http/host-rule.ts';
import { IdempotencyTable } from './http/idempotency.ts';
import { OriginRule } from './http/origin-rule.ts';
import { headersOf, problemOf } from './http/problem.ts';
import { RequestLimits } from './http/request-limits.ts';
import { RequestLog } from './http/request-log.ts';
import { type Listening, listen, notStarted } from './listen.ts';
import type { Log } from './log/log.ts';
import { VolleyMetrics } from './metrics/volley-metrics.ts';
import type { ServerParts } from './parts.ts';
import { leaveRecord, portsInUse, removeRecord } from './server-record.ts';
import { startTracing, type Tracing } from './tracing/tracing.ts';
import { BatchTexts } from './views/batch-texts.ts';

/** What a server works with. The executor is closed with the server, all else stays open. */
export interface ServerOptions {
  readonly config: VolleyConfig;
  readonly coordinator: ParallelToolCoordinator;
  readonly store: Store;
  readonly executor: BatchExecutor;
  readonly log: Log;
  /** Of Volley, for the description of the API. */
  readonly version: string;
  /** Limits of live events, where they differ from the defaults. */
  readonly events?: Omit<LiveBatchesOptions, 'executor' | 'store'>;
  /** The folder of the built dashboard, if it is not the one of this package. */
  readonly webFolder?: string;
}

/** How long clients may take to read their last answer. */
const LAST_ANSWERS_MS = 1000;

/** Starts to serve. */
export async function startServer(options: ServerOptions): Promise<VolleyServer> {
  const listening = await listen(options.config.server);
  try {
    return new VolleyServer(options, listening);
  } catch (error) {
    listening.server.close();
    throw error;
  }
}

/** The HTTP API and the dashboard, while they are served. */
export class VolleyServer {
  /** Without a slash at the end. */
  readonly address: string;
  readonly port: number;
  /** Where commands of the same user find the address and a token. */
  readonly recordFile: string;
  private readonly server: Server;
  private readonly gate: Gate;
  private readonly keys = new OneTimeKeys();
  private readonly token = newSecret('token');
  private readonly texts: BatchTexts;
  private readonly live: LiveBatches;
  private readonly metrics: VolleyMetrics;
  private readonly features: FeatureService;
  private readonly mcp: McpHttp;
  private readonly tracing: Tracing;
  /** Where a later server has another port, so that no browser comes back with its cookie. */
  private readonly forgetSessions: () => void = () => {};
  private isClosing = false;
  private closing: Promise<void> | undefined;

  /** @internal */
  constructor(
    private readonly options: ServerOptions,
    { server, port, isPortByChance, address, certificate }: Listening,
  ) {
    const { config, coordinator, store, executor, version, events } = options;
    const { server: settings } = config;
    const { file } = config.store;
    // What may fail comes first: nothing follows the store or the engine yet.
    this.recordFile = writeRecord(file, {
      address,
      token: this.token,
      started_at: new Date().toISOString(),
      certificate,
    });
    this.texts = new BatchTexts(executor, store);
    this.live = new LiveBatches({ ...events, executor, store });
    this.metrics = new VolleyMetrics({ engine: coordinator.engine, store, events: this.live });
    this.tracing = startTracing(coordinator.engine, executor);
    this.features = new FeatureService(locateTasks(config.folder, {}), {
      ...{ config, executor, store, env: process.env },
      coordinator: async () => coordinator,
    });
    this.mcp = new McpHttp({
      backend: {
        executor,
        store,
        news: new BatchNews(store),
        functions: (names) => discoveredTools(coordinator, names),
        features: async () => this.features,
      },
      version,
      onError: (error) => options.log('error', 'mcp failed', { message: reasonText(error) }),
    });
    this.server = server;
    this.port = port;
    this.address = address;
    const isSecure = certificate !== null;
    const cookie = new SessionCookie(port, isSecure);
    const kept = sessionFile(file, port);
    const sessions = new Sessions(kept, settings.sessionMs, Date.now());
    if (isPortByChance) this.forgetSessions = () => removeSessionFile(kept);
    const log = new RequestLog(this.metrics, options.log);
    const parts: ServerParts = {
      coordinator,
      store,
      executor,
      features: this.features,
      version,
      texts: this.texts,
      live: this.live,
      mcp: this.mcp,
      metrics: this.metrics,
      tracing: this.tracing,
      keys: this.keys,
      sessions,
      cookie,
      log,
      idempotency: new IdempotencyTable(),
      streams: new ClientStreams(settings.limits.streams),
      webFolder: options.webFolder ?? builtDashboard(),
      address: () => this.address,
      proofOf: (challenge) => proofOf(this.token, challenge),
      isReady: () => !this.isClosing,
    };
    const app = createApp(parts);
    const listener = getRequestListener((request, env) => app.fetch(request, env as HttpBindings), {
      errorHandler: badRequest,
      // The process may be somebody else's, who knows nothing of Hono.
      overrideGlobalObjects: false,
    });
    this.gate = new Gate({
      hosts: new HostRule(settings.host, settings.allowedHosts),
      origins: new OriginRule(isSecure ? 'https' : 'http', settings.allowedOrigins),
      authenticator: new Authenticator(new TokenTable(settings.tokens, this.token), sessions, cookie),
      limits: new RequestLimits(settings.limits.requestsPerSecond),
      log,
      reads: new BatchReads(this.texts),
      maxBodyBytes: settings.limits.maxBodyBytes,
      maxDepth: settings.limits.maxDepth,
      next: (incoming, outgoing) =>
        this.tracing.within(incoming.headers['traceparent'], () => void listener(incoming, outgoing)),
    });
    server.on('request', this.gate.listener);
    clearSessionFiles(file, portsInUse(file), Date.now());
  }

  /** The address of the dashboard with a new key, which is good once. */
  pageAddress(): string {
    return `${this.address}/#key=${this.keys.make(Date.now())}`;
  }

  /**
   * Takes no more work, lets what runs finish for so long, then ends every stream and connection. Called again, it ends
   * everything at once.
   */
  close({ graceMs = this.options.config.server.graceMs }: { readonly graceMs?: number } = {}): Promise<void> {
    if (this.closing !== undefined) {
      void this.options.executor.close({ graceMs: 0 });
      this.server.closeAllConnections();
      return this.closing;
    }
    this.closing = this.closeOnce(graceMs);
    return this.closing;
  }

  private async closeOnce(graceMs: number): Promise<void> {
    const { executor } = this.options;
    const deadline = performance.now() + graceMs;
    this.isClosing = true;
    this.gate.close();
    // Commands that are given from now on do their work themselves.
    removeRecord(this.recordFile, this.token);
    await executor.close({ graceMs });
    await this.features.close();
    await this.mcp.close();
    await this.live.close('shutdown');
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    this.server.closeIdleConnections();
    const timer = setTimeout(
      () => this.server.closeAllConnections(),
      Math.max(LAST_ANSWERS_MS, deadline - performance.now()),
    );
    await closed;
    clearTimeout(timer);
    this.forgetSessions();
    this.metrics.close();
    this.tracing.stop();
    this.texts.close();
  }
}

function writeRecord(...record: Parameters<typeof leaveRecord>): string {
  try {
    return leaveRecord(...record);
  } catch (error) {
    throw notStarted(
      `The server cannot start, for its record cannot be written beside the store: ${reasonText(error)}.`,
    );
  }
}

/** The answer to an address that cannot be read. */
function badRequest(): Response {
  const error = new VolleyError('INVALID_REQUEST', 'The address of the request cannot be read.');
  const problem = problemOf(error);
  return new Response(JSON.stringify(problem), { status: problem.status, headers: headersOf(problem) });
}

/** Beside the built server; or, when it runs from its sources, where the build puts it. */
function builtDashboard(): string {
  const built = fileURLToPath(new URL('../web/', import.meta.url));
  return existsSync(built) ? built : fileURLToPath(new URL('../../dist/web/', import.meta.url));
}
