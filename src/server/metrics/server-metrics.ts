import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { ENDED } from '../../batch/counts.ts';
import type { WorkerDirectory, WorkerStatus } from '../../coordinator/remote-runner.ts';
import type { ParallelExecutionEngine } from '../../engine/engine.ts';
import type { DurationSummary, ToolUsage } from '../../engine/statistics.ts';
import type { ProgressUpdate } from '../../engine/updates.ts';
import type { Store } from '../../store/store.ts';
import type { HubCounts } from '../events/event-hub.ts';
import type { MeasuredStatistics, StatisticsBody } from '../wire/statistics.ts';
import { WIRE_NAMES } from '../wire/worker.ts';
import { FunctionMetrics } from './function-metrics.ts';
import { UseMeter } from './measured-use.ts';
import { ProcessMetrics } from './process-metrics.ts';
import { BoundedNames, RequestMetrics } from './request-metrics.ts';

export interface MetricsParts {
  readonly engine: ParallelExecutionEngine;
  readonly store: Store;
  readonly events: { counts(): HubCounts };
  readonly workers?: WorkerDirectory;
}

const OPEN = ['pending', 'queued', 'running', 'retrying'] as const;
const MAX_TOOLS = 200;
/** In seconds: from a millisecond to an hour. */
const EXECUTION_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600];
const COMMIT_BUCKETS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1];
const SAMPLE_MS = 1000;
/** Ten minutes. */
const MAX_SAMPLES = 600;

/** Values of a metric, each with its labels; asked for when somebody reads the metric. */
type Values = () => Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>;

/** Everything that is measured, in a registry of its own: a program that uses prom-client itself is not disturbed. */
export class ServerMetrics {
  private readonly registry = new Registry();
  private readonly requests = new RequestMetrics();
  private readonly process: ProcessMetrics;
  private readonly functions = new FunctionMetrics();
  private readonly meter = new UseMeter();
  /** The use of each resource, in a ring. */
  private readonly samples: StatisticsBody['history'] = [];
  private nextSample = 0;
  private readonly timer: NodeJS.Timeout;
  private readonly unlisten: readonly (() => void)[];

  constructor(private readonly parts: MetricsParts) {
    const { engine, store } = parts;
    this.process = new ProcessMetrics(this.registry);
    this.addEngineMetrics();
    this.addUsageMetrics();
    this.addQuotaMetrics();
    this.addEventMetrics();
    if (parts.workers !== undefined) this.addWorkerMetrics(parts.workers);
    const commits = new Histogram({
      name: 'volley_store_commit_seconds',
      help: 'How long a store transaction took, from its first write until it was durable.',
      buckets: COMMIT_BUCKETS,
      registers: [this.registry],
    });
    this.unlisten = [
      engine.progress.listen(this.executionMetrics()),
      store.onCommit((ms) => commits.observe(ms / 1000)),
    ];
    this.timer = setInterval(() => this.sample(), SAMPLE_MS).unref();
    this.sample();
  }

  /** In the format of Prometheus. */
  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    return {
      contentType: this.registry.contentType,
      body: `${await this.registry.metrics()}\n${this.requests.text()}`,
    };
  }

  /** A request has ended; `route` is a pattern, never what the client wrote. */
  request(route: string, method: string, status: number, ms: number): void {
    this.requests.ended(route, method, status, ms);
  }

  /** The engine's own numbers, with the last ten minutes of use. */
  statistics(): MeasuredStatistics {
    const { engine, events } = this.parts;
    const { counts, submitted, retries, duration, waiting, usage } = engine.statistics();
    this.meter.watch();
    const history = [...this.samples.slice(this.nextSample), ...this.samples.slice(0, this.nextSample)];
    return {
      at: Date.now(),
      counts,
      submitted,
      retries,
      duration_ms: durations(duration),
      waiting_ms: durations(waiting),
      use: this.use(),
      measured: history.at(-1)?.measured ?? null,
      history,
      functions: this.functions.list(),
      usage: usage.slice(0, MAX_TOOLS).map(usageBody),
      event_loop_delay_ms: this.process.delayMs(),
      subscribers: events.counts().subscribers,
    };
  }

  close(): void {
    clearInterval(this.timer);
    for (const unlisten of this.unlisten) unlisten();
    this.process.close();
  }

  private sample(): void {
    this.process.forgetOld();
    this.samples[this.nextSample] = {
      at: Date.now(),
      used: this.use().map(({ used }) => used),
      measured: this.meter.sample(),
    };
    this.nextSample = (this.nextSample + 1) % MAX_SAMPLES;
  }

  /** How much of each resource is in use, and how much there is. */
  private use(): StatisticsBody['use'] {
    const { utilization } = this.parts.engine.statistics();
    return Object.entries(utilization).map(([name, { used, limit }]) => ({
      name: WIRE_NAMES.get(name) ?? name,
      used,
      limit: Number.isFinite(limit) ? limit : null,
    }));
  }

  private addEngineMetrics(): void {
    const { engine } = this.parts;
    const counted = (statuses: readonly ((typeof OPEN)[number] | (typeof ENDED)[number])[]) => () => {
      const { counts } = engine.statistics();
      return statuses.map((status) => [{ status }, counts[status]] as const);
    };
    this.gauge('volley_executions', 'Executions that have not ended, by status.', counted(OPEN), 'status');
    this.counter(
      'volley_executions_ended_total',
      'Executions that have ended, by status.',
      counted(ENDED),
      'status',
    );
    this.gauge(
      'volley_queued_executions',
      'Executions waiting for capacity, by priority.',
      () => Object.entries(engine.queued()).map(([priority, count]) => [{ priority }, count] as const),
      'priority',
    );
    this.counter(
      'volley_attempts_abandoned_total',
      'Attempts that did not stop within their grace period.',
      () => [[{}, engine.statistics().abandoned]],
    );
    this.gauge(
      'volley_resource_used',
      'How much of a resource is held by running executions.',
      () => this.use().map(({ name, used }) => [{ resource: name }, used] as const),
      'resource',
    );
    this.gauge(
      'volley_resource_limit',
      'How much of a resource there is; a resource without a limit is not listed.',
      () =>
        this.use().flatMap(({ name, limit }) =>
          limit === null ? [] : [[{ resource: name }, limit] as const],
        ),
      'resource',
    );
  }

  /** What calls in processes really used, next to what they claim. */
  private addUsageMetrics(): void {
    const { engine } = this.parts;
    const figures = (resource: 'cpu' | 'memoryMb') => () =>
      engine
        .statistics()
        .usage.slice(0, MAX_TOOLS)
        .flatMap(({ toolName: tool, claimed, [resource]: used }) =>
          Object.entries({ ...used, ...(claimed !== undefined && { claimed: claimed[resource] }) }).map(
            ([figure, value]) => [{ tool, figure }, value] as const,
          ),
        );
    const labels = ['tool', 'figure'];
    this.gauge(
      'volley_tool_cpu',
      'Cores that calls in processes used, and claim.',
      figures('cpu'),
      ...labels,
    );
    this.gauge(
      'volley_tool_memory_mb',
      'The peak memory of calls in processes, and what they claim.',
      figures('memoryMb'),
      ...labels,
    );
  }

  private addQuotaMetrics(): void {
    const paused: Values = () =>
      this.parts.engine
        .quotas()
        .slice(0, MAX_TOOLS)
        .map(({ scope, pausedUntil }) => [
          { scope },
          pausedUntil === undefined ? 0 : Math.max(0, pausedUntil - Date.now()) / 1000,
        ]);
    this.gauge(
      'volley_quota_paused_seconds',
      'How long a quota that was used up is still paused.',
      paused,
      'scope',
    );
  }

  private addEventMetrics(): void {
    const value =
      (field: keyof HubCounts): Values =>
      () => [[{}, this.parts.events.counts()[field]]];
    this.counter('volley_events_total', 'Events that were published.', value('events'));
    this.counter('volley_event_streams_opened_total', 'Streams that were opened.', value('opened'));
    this.counter(
      'volley_event_streams_resumed_total',
      'Streams that continued from the log.',
      value('resumed'),
    );
    this.counter(
      'volley_event_streams_stalled_total',
      'Streams that were closed because nobody read them.',
      value('stalled'),
    );
    this.counter(
      'volley_event_gaps_total',
      'How often a client missed events and got a snapshot instead.',
      value('gaps'),
    );
    this.gauge('volley_event_subscribers', 'Streams that are open.', value('subscribers'));
    this.gauge('volley_event_lag', 'How many events the slowest client is behind.', value('lag'));
  }

  private addWorkerMetrics(workers: WorkerDirectory): void {
    const each =
      (value: (status: WorkerStatus) => number): Values =>
      () =>
        workers.list().map((status) => [{ worker: status.name }, value(status)] as const);
    const uses = (amount: 'used' | 'limit') => () =>
      workers
        .list()
        .flatMap(({ name: worker, use }) =>
          use.map(
            ({ name, [amount]: value }) =>
              [{ worker, resource: WIRE_NAMES.get(name) ?? name }, value] as const,
          ),
        );
    this.gauge(
      'volley_workers',
      'Workers of the cluster, by state.',
      () => workers.list().map(({ state }) => [{ state }, 1] as const),
      'state',
    );
    this.gauge(
      'volley_worker_calls',
      'Calls that a worker has.',
      each(({ calls }) => calls.length),
      'worker',
    );
    this.gauge(
      'volley_worker_last_heard_seconds',
      'How long ago a worker renewed its lease.',
      each(({ lastHeardMs }) => lastHeardMs / 1000),
      'worker',
    );
    this.gauge(
      'volley_worker_resource_used',
      'How much of a resource of a worker calls hold.',
      uses('used'),
      ...['worker', 'resource'],
    );
    this.gauge(
      'volley_worker_resource_limit',
      'How much of a resource a worker offers.',
      uses('limit'),
      ...['worker', 'resource'],
    );
    this.counter(
      'volley_worker_calls_ended_total',
      'Calls that ended on a worker since it joined, by status.',
      () =>
        workers
          .list()
          .flatMap(({ name: worker, ended }) =>
            Object.entries(ended).map(([status, count]) => [{ worker, status }, count] as const),
          ),
      ...['worker', 'status'],
    );
  }

  /** Attempts, failures and times of each tool: what to do with each update of the engine. */
  private executionMetrics(): (update: ProgressUpdate) => void {
    const tools = new BoundedNames(MAX_TOOLS);
    const registers = [this.registry];
    const byTool = { labelNames: ['tool'], registers } as const;
    const waits = new Histogram({
      ...byTool,
      name: 'volley_execution_wait_seconds',
      help: 'From the submission of an execution to its first start.',
      buckets: EXECUTION_BUCKETS,
    });
    const runs = new Histogram({
      ...byTool,
      name: 'volley_execution_run_seconds',
      help: 'How long the last attempt of completed executions took.',
      buckets: EXECUTION_BUCKETS,
    });
    const attempts = new Counter({
      ...byTool,
      name: 'volley_attempts_total',
      help: 'Attempts that were started.',
    });
    const failures = new Counter({
      name: 'volley_failures_total',
      help: 'Attempts that failed, by reason, and whether another one followed.',
      labelNames: ['tool', 'reason', 'retried'],
      registers,
    });
    const refusals = new Counter({
      ...byTool,
      name: 'volley_quota_refusals_total',
      help: 'Attempts that were put back because a quota of an outside service was used up.',
    });
    // No update is missed any more. The name stays for dashboards that show it.
    new Counter({
      name: 'volley_updates_missed_total',
      help: 'Updates of the engine that were not counted: none.',
      registers,
    });
    return (update) => {
      // A call that never started may name anything.
      const tool = tools.of(update.toolName, update.type === 'started');
      this.functions.note(tool, update);
      switch (update.type) {
        case 'started':
          attempts.inc({ tool });
          if (update.attempt === 1) waits.observe({ tool }, update.waitedMs / 1000);
          break;
        case 'completed':
          runs.observe({ tool }, update.durationMs / 1000);
          break;
        case 'retrying':
          if (update.quota === undefined) failures.inc({ tool, reason: update.reason, retried: 'yes' });
          else refusals.inc({ tool });
          break;
        case 'failed':
          failures.inc({ tool, reason: update.reason, retried: 'no' });
          break;
        default:
      }
    };
  }

  private gauge(name: string, help: string, values: Values, ...labels: string[]): void {
    new Gauge(this.metric(name, help, values, labels));
  }

  private counter(name: string, help: string, values: Values, ...labels: string[]): void {
    new Counter(this.metric(name, help, values, labels));
  }

  /** Read anew at every scrape, from 0: that suits a counter as well as a gauge. */
  private metric(name: string, help: string, values: Values, labelNames: string[]) {
    return {
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect(this: Gauge | Counter) {
        this.reset();
        for (const [labels, value] of values()) this.inc(labels, value);
      },
    };
  }
}

function usageBody({
  toolName,
  samples,
  cpu,
  memoryMb,
  claimed,
}: ToolUsage): StatisticsBody['usage'][number] {
  return {
    function: toolName,
    samples,
    cpu: cpu ?? null,
    memory_mb: memoryMb ?? null,
    claimed:
      claimed === undefined
        ? null
        : { cpu: claimed.cpu, memory_mb: claimed.memoryMb, learned: claimed.isLearned },
  };
}

function durations({ meanMs, p50Ms, p95Ms, p99Ms, maxMs }: DurationSummary): Record<string, number> {
  return { mean: meanMs, p50: p50Ms, p95: p95Ms, p99: p99Ms, max: maxMs };
}
