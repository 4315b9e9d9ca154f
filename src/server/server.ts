import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { BatchExecutor } from '../batch/executor/batch-executor.ts';
import type { VolleyConfig } from '../config/config.ts';
import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import type { WorkerDirectory } from '../coordinator/remote-runner.ts';
import { VolleyError } from '../core/errors.ts';
import { reasonText } from '../core/words.ts';
import { discoveredTools } from '../mcp/open-coordinator.ts';
import { McpHttp } from '../mcp/server/mcp-http.ts';
import type { Store } from '../store/store.ts';
import { StoreWatch } from '../store/store-watch.ts';
import { locateTasks } from '../tasks/files/task-folder.ts';
import { FeatureService } from '../tasks/run/feature-service.ts';
import { createApp } from './app.ts';
import { Authenticator, SessionCookie, TokenTable } from './auth/authenticator.ts';
import { newSecret, proofOf } from './auth/secrets.ts';
import { clearSessionFiles, OneTimeKeys, removeSessionFile, Sessions, sessionFile } from './auth/sessions.ts';
import type { HubOptions } from './events/event-hub.ts';
import { LiveEvents } from './events/live-events.ts';
import { BatchReads, BatchTexts } from './http/batch-reads.ts';
import { Gate } from './http/gate.ts';
import { ClientStreams, RequestLimits } from './http/limits.ts';
import { HostRule, OriginRule } from './http/origin.ts';
import { problemBody, problemHeaders } from './http/problem.ts';
import { RequestLog } from './http/request-log.ts';
import { type Listening, listen, notStarted } from './listen.ts';
import type { Log } from './log/log.ts';
import { ServerMetrics } from './metrics/server-metrics.ts';
import { IdempotencyTable } from './routes/idempotency.ts';
import type { ServerParts } from './routes/parts.ts';
import { leaveRecord, portsInUse, removeRecord } from './server-record.ts';
import { startTracing, type Tracing } from './tracing/tracing.ts';

/** The parts that a server uses. Closing the server closes the executor and leaves the rest open. */
export interface ServerOptions {
  readonly config: VolleyConfig;
  readonly coordinator: ParallelToolCoordinator;
  readonly store: Store;
  readonly executor: BatchExecutor;
  readonly log: Log;
  /** Of Volley, for the description of the API. */
  readonly version: string;
  /**
   * The workers on which calls are placed.
   *
   * @internal
   */
  readonly workers?: WorkerDirectory;
  /** Limits of live events that differ from the defaults. */
  readonly events?: HubOptions;
  /** The folder of the built dashboard, if it is not the one of this package. */
  readonly webFolder?: string;
}

/** How long clients may take to read their last response. */
const LAST_ANSWERS_MS = 1000;

/** Starts a server. */
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
  /** The file in which commands of the same user find the address and a token. */
  readonly recordFile: string;
  private readonly server: Server;
  private readonly gate: Gate;
  private readonly keys = new OneTimeKeys();
  private readonly token = newSecret('token');
  private readonly texts: BatchTexts;
  private readonly live: LiveEvents;
  private readonly metrics: ServerMetrics;
  private readonly features: FeatureService;
  private readonly mcp: McpHttp;
  private readonly tracing: Tracing;
  /** Whether the system chose the port. A later server has another one, so cookies are not reused. */
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
    // What may fail comes first, before anything subscribes to the store or the engine.
    this.recordFile = writeRecord(file, {
      address,
      token: this.token,
      started_at: new Date().toISOString(),
      certificate,
    });
    const watch = new StoreWatch(store);
    this.live = new LiveEvents({ engine: coordinator.engine, executor, store, watch }, events);
    this.texts = new BatchTexts(executor, store, this.live.speeds);
    const { workers } = options;
    this.metrics = new ServerMetrics({
      ...{ engine: coordinator.engine, store, events: this.live },
      ...(workers !== undefined && { workers }),
    });
    this.tracing = startTracing(coordinator.engine, executor);
    const tasks = locateTasks(config.folder, {});
    this.features = new FeatureService(tasks, {
      ...{ config, executor, store, env: process.env },
      coordinator: async () => coordinator,
    });
    this.mcp = new McpHttp({
      backend: {
        executor,
        store,
        watch,
        functions: (names) => discoveredTools(coordinator, names),
        keepRunsMs: config.mcpServer.keepRunsMs,
        features: async () => this.features,
      },
      offer: {
        profile: async () => config.mcpServer.profile,
        hasFeatures: async () => (await tasks.folder.names()).length > 0,
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
      workers,
      features: this.features,
      version,
      project: basename(config.folder),
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
      // The server may be embedded in a process that does not use Hono.
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

  /** Returns the address of the dashboard with a new one-time key. */
  pageAddress(): string {
    return `${this.address}/#key=${this.keys.make(Date.now())}`;
  }

  /**
   * Rejects new work, gives running work a grace period, then ends all streams and connections. A second call ends
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
    // From now on, commands do their work themselves.
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

function writeRecord(...[storeFile, record]: Parameters<typeof leaveRecord>): string {
  try {
    return leaveRecord(storeFile, record);
  } catch (error) {
    throw notStarted(
      `The server cannot start because its record cannot be written next to the store: ${reasonText(error)}.`,
      { storeFile },
    );
  }
}

/** The answer to a request with an invalid address. */
function badRequest(): Response {
  const error = new VolleyError('INVALID_REQUEST', 'The address of the request is not valid.');
  const problem = problemBody(error);
  return new Response(JSON.stringify(problem), { status: problem.status, headers: problemHeaders(problem) });
}

/** Next to the built server, or in the build output if the server runs from source. */
function builtDashboard(): string {
  const built = fileURLToPath(new URL('../web/', import.meta.url));
  return existsSync(built) ? built : fileURLToPath(new URL('../../dist/web/', import.meta.url));
}
