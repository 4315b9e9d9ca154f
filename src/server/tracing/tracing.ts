import {
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { BatchExecutor } from '../../batch/batch-executor.ts';
import type { BatchEvent } from '../../batch/events.ts';
import type { ParallelExecutionEngine } from '../../engine/engine.ts';
import type { MissedUpdates, ProgressUpdate } from '../../engine/updates.ts';

interface OpenExecution {
  readonly span: Span;
  attempt: Span | undefined;
}

/** More executions than that are not followed at once. */
const MOST_OPEN = 10_000;
const MOST_BATCHES = 1000;
/** The group of the engine in which a run of a batch is: its name and a number. */
const RUN_OF_BATCH = /^(.+)#\d+$/s;

/**
 * Spans for batches, executions and attempts, if the program has set up OpenTelemetry: without that nothing is followed.
 * The answer ends it.
 */
export function startTracing(engine: ParallelExecutionEngine, executor: BatchExecutor): () => void {
  const tracer = trace.getTracer('volley');
  if (!isRecorded(tracer)) return () => undefined;
  const spans = new ExecutionSpans(tracer);
  const unfollow = executor.follow((event) => spans.takeBatch(event));
  const updates = engine.progress.subscribe();
  const follow = async () => {
    for await (const update of updates) spans.take(update);
  };
  void follow();
  return () => {
    unfollow();
    void updates.return();
    spans.endAll();
  };
}

function isRecorded(tracer: Tracer): boolean {
  const probe = tracer.startSpan('volley.start');
  const isRecording = probe.isRecording();
  probe.end();
  return isRecording;
}

class ExecutionSpans {
  private readonly executions = new Map<string, OpenExecution>();
  /** By name: the last run of each, also after its end, for what is told late. */
  private readonly batches = new Map<string, { readonly span: Span; readonly within: Context }>();

  constructor(private readonly tracer: Tracer) {}

  takeBatch(event: BatchEvent): void {
    const { batch, at } = event;
    if (event.type === 'batch-started') {
      if (this.batches.size >= MOST_BATCHES) this.batches.clear();
      const attributes = { 'volley.batch': batch };
      const span = this.tracer.startSpan('volley.batch', { startTime: at, attributes }, context.active());
      this.batches.set(batch, { span, within: trace.setSpan(ROOT_CONTEXT, span) });
    } else if (event.type === 'batch-ended') {
      this.batches.get(batch)?.span.end(at);
    }
  }

  take(update: ProgressUpdate | MissedUpdates): void {
    switch (update.type) {
      case 'started':
        this.started(update);
        break;
      case 'retrying':
        this.endAttempt(update, update.reason);
        break;
      case 'completed':
        this.end(update, undefined);
        break;
      case 'failed':
        this.end(update, update.reason);
        break;
      case 'cancelled':
      case 'skipped':
        this.end(update, update.type);
        break;
      default:
    }
  }

  endAll(): void {
    for (const { span, attempt } of this.executions.values()) {
      attempt?.end();
      span.end();
    }
    this.executions.clear();
    for (const { span } of this.batches.values()) span.end();
    this.batches.clear();
  }

  private started(update: Extract<ProgressUpdate, { type: 'started' }>): void {
    const { executionId, attempt, at } = update;
    const open = this.executions.get(executionId) ?? this.open(update);
    if (open === undefined) return;
    open.attempt?.end(at);
    open.attempt = this.tracer.startSpan(
      'volley.attempt',
      { startTime: at, attributes: { 'volley.attempt': attempt } },
      trace.setSpan(ROOT_CONTEXT, open.span),
    );
  }

  private open({ executionId, toolName, group, at, waitedMs }: Extract<ProgressUpdate, { type: 'started' }>) {
    if (this.executions.size >= MOST_OPEN) return undefined;
    const batch = group === undefined ? undefined : RUN_OF_BATCH.exec(group)?.[1];
    const within = batch === undefined ? undefined : this.batches.get(batch)?.within;
    const attributes = {
      'volley.execution': executionId,
      'volley.tool': toolName,
      'volley.waited_ms': waitedMs,
      ...(batch !== undefined && within !== undefined && { 'volley.batch': batch }),
    };
    const span = this.tracer.startSpan(
      'volley.execution',
      { startTime: at - waitedMs, attributes },
      within ?? ROOT_CONTEXT,
    );
    const open: OpenExecution = { span, attempt: undefined };
    this.executions.set(executionId, open);
    return open;
  }

  private endAttempt({ executionId, at }: ProgressUpdate, problem: string | undefined): void {
    const open = this.executions.get(executionId);
    if (open?.attempt === undefined) return;
    if (problem !== undefined) fail(open.attempt, problem);
    open.attempt.end(at);
    open.attempt = undefined;
  }

  private end(update: ProgressUpdate, problem: string | undefined): void {
    const { executionId, at } = update;
    this.endAttempt(update, problem);
    const open = this.executions.get(executionId);
    if (open === undefined) return;
    this.executions.delete(executionId);
    if (problem !== undefined) fail(open.span, problem);
    open.span.end(at);
  }
}

/** The reason alone: texts of errors are for those who may read them. */
function fail(span: Span, reason: string): void {
  span.setAttribute('volley.reason', reason);
  span.setStatus({ code: SpanStatusCode.ERROR, message: reason });
}
