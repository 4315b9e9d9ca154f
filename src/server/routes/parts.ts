import type { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import type { WorkerDirectory } from '../../coordinator/remote-runner.ts';
import type { McpHttp } from '../../mcp/server/mcp-http.ts';
import type { Store } from '../../store/store.ts';
import type { FeatureService } from '../../tasks/run/feature-service.ts';
import type { SessionCookie } from '../auth/authenticator.ts';
import type { OneTimeKeys, Sessions } from '../auth/sessions.ts';
import type { LiveEvents } from '../events/live-events.ts';
import type { BatchTexts } from '../http/batch-reads.ts';
import type { ClientStreams } from '../http/limits.ts';
import type { RequestLog } from '../http/request-log.ts';
import type { ServerMetrics } from '../metrics/server-metrics.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { IdempotencyTable } from './idempotency.ts';

/** The parts that routes use. */
export interface ServerParts {
  readonly coordinator: ParallelToolCoordinator;
  readonly store: Store;
  readonly executor: BatchExecutor;
  /** Undefined if everything runs in this process. */
  readonly workers: WorkerDirectory | undefined;
  readonly features: FeatureService;
  readonly texts: BatchTexts;
  readonly live: LiveEvents;
  readonly mcp: McpHttp;
  readonly metrics: ServerMetrics;
  readonly tracing: Tracing;
  readonly keys: OneTimeKeys;
  readonly sessions: Sessions;
  readonly cookie: SessionCookie;
  readonly idempotency: IdempotencyTable;
  readonly streams: ClientStreams;
  readonly log: RequestLog;
  readonly version: string;
  /** The name of the project, for people. */
  readonly project: string;
  /** The folder of the built dashboard. */
  readonly webFolder: string;
  /** The address of the server, without a trailing slash. */
  readonly address: () => string;
  /** Proves to readers of this server's record that it is this server. */
  readonly proofOf: (challenge: string) => string;
  /** Whether it accepts new work. */
  readonly isReady: () => boolean;
}
