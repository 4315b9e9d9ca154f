import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import type { BatchEvent } from '../../batch/run/events.ts';
import { countText } from '../../core/words.ts';
import type { ParallelExecutionEngine } from '../../engine/engine.ts';
import type { ProgressUpdate } from '../../engine/updates.ts';

interface OpenExecution {
  readonly span: Span;
  attempt: Span | undefined;
}

/** More executions than that are not followed at once. */
const MAX_OPEN = 10_000;
const MAX_BATCHES = 1000;
const MAX_GROUPS = 10_000;
const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
/** The group of the engine in which a run of a batch is: its name and a number. */
const RUN_OF_BATCH = /^(.+)#\d+$/s;

/** How the spans of a server belong to those of its clients. */
export interface Tracing {
  /** Handles a request: the batches and calls that it starts are within the span that its `traceparent` names. */
  within(traceparent: string | readonly string[] | undefined, handle: () => void): void;
  /** The executions of a group of the engine were started by the current request. */
  adopt(group: string): void;
  stop(): void;
}

const NO_TRACING: Tracing = {
  within: (_, handle) => handle(),
  adopt: () => undefined,
  stop: () => undefined,
};

/** The span of the client of the current request. */
const client = new AsyncLocalStorage<Context>();

/** Spans for batches, executions and attempts, if the program has set up OpenTelemetry: else nothing is followed. */
export function startTracing(engine: ParallelExecutionEngine, executor: BatchExecutor): Tracing {
  const tracer = trace.getTracer('volley');
  if (!isRecorded(tracer)) return NO_TRACING;
  const spans = new ExecutionSpans(tracer);
  const unfollow = executor.follow((event) => spans.takeBatch(event));
  const unlisten = engine.progress.listen((update) => spans.take(update));
  return {
    within: (traceparent, handle) => {
      const parent = remoteSpan(traceparent);
      if (parent === undefined) handle();
      else client.run(parent, handle);
    },
    adopt: (group) => spans.adopt(group, client.getStore()),
    stop: () => {
      unfollow();
      unlisten();
      spans.endAll();
    },
  };
}

/** The span that a `traceparent` of W3C Trace Context names. One that is not valid names none. */
function remoteSpan(traceparent: string | readonly string[] | undefined): Context | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || version === 'ff') return undefined;
  if (version === '00' && more !== undefined) return undefined;
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags!, 16) & 1, isRemote: true };
  return isSpanContextValid(span) ? trace.setSpanContext(ROOT_CONTEXT, span) : undefined;
}

function isRecorded(tracer: Tracer): boolean {
  const probe = tracer.startSpan('volley.start');
  const isRecording = probe.isRecording();
  probe.end();
  return isRecording;
}

class ExecutionSpans {
  private readonly executions = new Map<string, OpenExecution>();
  /** By name: the last run of each, also after its end, for late updates. */
  private readonly batches = new Map<
    string,
    { readonly span: Span; readonly within: Context; failed: number }
  >();
  /** The spans of clients, by the group of the engine that runs their calls. */
  private readonly clients = new Map<string, Context>();

  constructor(private readonly tracer: Tracer) {}

  adopt(group: string, parent: Context | undefined): void {
    if (parent === undefined) return;
    this.clients.set(group, parent);
    // Groups are never used again, and those that came first have ended first, as a rule.
    const [oldest] = this.clients.keys();
    if (this.clients.size > MAX_GROUPS) this.clients.delete(oldest!);
  }

  takeBatch(event: BatchEvent): void {
    const { batch, at } = event;
    if (event.type === 'batch-started') {
      if (this.batches.size >= MAX_BATCHES) this.batches.clear();
      const attributes = { 'volley.batch': batch };
      const parent = client.getStore() ?? context.active();
      const span = this.tracer.startSpan('volley.batch', { startTime: at, attributes }, parent);
      this.batches.set(batch, { span, within: trace.setSpan(ROOT_CONTEXT, span), failed: 0 });
      return;
    }
    const run = this.batches.get(batch);
    if (run === undefined) return;
    if (event.type === 'failed') run.failed++;
    if (event.type !== 'batch-ended') return;
    if (run.failed > 0) {
      run.span.setAttribute('volley.failed', run.failed);
      run.span.setStatus({ code: SpanStatusCode.ERROR, message: `${countText(run.failed, 'task')} failed` });
    }
    run.span.end(at);
  }

  take(update: ProgressUpdate): void {
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
    if (this.executions.size >= MAX_OPEN) return undefined;
    const batch = group === undefined ? undefined : RUN_OF_BATCH.exec(group)?.[1];
    const within = batch === undefined ? group && this.clients.get(group) : this.batches.get(batch)?.within;
    const attributes = {
      'volley.execution': executionId,
      'volley.tool': toolName,
      'volley.waited_ms': waitedMs,
      ...(batch !== undefined && within && { 'volley.batch': batch }),
    };
    const span = this.tracer.startSpan(
      'volley.execution',
      { startTime: at - waitedMs, attributes },
      within || ROOT_CONTEXT,
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
