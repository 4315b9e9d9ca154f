import {
  type Attributes,
  type Context,
  type HrTime,
  type Span,
  type SpanContext,
  type SpanOptions,
  type SpanStatus,
  SpanStatusCode,
  type TimeInput,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { expect, onTestFinished, test } from 'vitest';
import { startTracing } from '../../../src/server/tracing/tracing.ts';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { openRig } from '../../batch/support/rig.ts';

/** As little of an SDK as the API allows: it keeps spans in a list. */
class KeptSpan implements Span {
  status: SpanStatus = { code: SpanStatusCode.UNSET };
  endTime: TimeInput | undefined;
  readonly attributes: Attributes;

  constructor(
    readonly name: string,
    readonly options: SpanOptions,
    readonly parent: KeptSpan | undefined,
    private readonly number: number,
  ) {
    this.attributes = { ...options.attributes };
  }

  spanContext(): SpanContext {
    return { traceId: '1'.repeat(32), spanId: String(this.number).padStart(16, '0'), traceFlags: 1 };
  }
  setAttribute(key: string, value: never): this {
    this.attributes[key] = value;
    return this;
  }
  setAttributes(): this {
    return this;
  }
  addEvent(): this {
    return this;
  }
  addLink(): this {
    return this;
  }
  addLinks(): this {
    return this;
  }
  setStatus(status: SpanStatus): this {
    this.status = status;
    return this;
  }
  updateName(): this {
    return this;
  }
  end(at?: TimeInput): void {
    this.endTime ??= at ?? Date.now();
  }
  isRecording(): boolean {
    return this.endTime === undefined;
  }
  recordException(_: unknown, __?: HrTime): void {}
}

function keepSpans(): KeptSpan[] {
  const spans: KeptSpan[] = [];
  const tracer = {
    startSpan: (name: string, options: SpanOptions = {}, within?: Context) => {
      const parent = within && (trace.getSpan(within) as KeptSpan | undefined);
      const span = new KeptSpan(name, options, parent, spans.length + 1);
      spans.push(span);
      return span;
    },
  } as unknown as Tracer;
  trace.setGlobalTracerProvider({ getTracer: () => tracer });
  onTestFinished(() => trace.disable());
  return spans;
}

test('nothing is followed where nobody has set up tracing', async () => {
  const rig = await openRig();
  let followed = 0;
  const { executor } = rig;
  const follow = executor.follow.bind(executor);
  executor.follow = (listener) => {
    followed++;
    return follow(listener);
  };
  startTracing(rig.coordinator.engine, executor).stop();
  expect(followed).toBe(0);
});

test('a batch, its executions and their attempts are spans within each other', async () => {
  const spans = keepSpans();
  let failures = 1;
  const flaky = defineTool<{ secret: string }>({
    name: 'flaky',
    retry: { delayMs: 1 },
    run: () => {
      if (failures-- > 0) throw new Error('hidden text');
      return 1;
    },
  }) as Tool;
  const rig = await openRig([flaky]);
  const { stop } = startTracing(rig.coordinator.engine, rig.executor);
  onTestFinished(stop);
  await rig.ask('add', {
    id: 'a',
    function: 'flaky',
    params: { secret: 'hidden' },
    max_retries: 1,
    batch: 'my#1',
  });
  await rig.ask('add', { id: 'b', function: 'broken', max_retries: 0, batch: 'my#1' });
  await rig.ask('start', { wait: true, batch: 'my#1', max_concurrent: 1 });
  await rig.coordinator.engine.submit({ toolName: 'alone' }, () => 1).wait();
  const told = () =>
    spans
      .slice(1)
      .map(({ name, attributes, status, parent, endTime }) =>
        [
          name,
          attributes['volley.tool'] ?? attributes['volley.attempt'] ?? attributes['volley.batch'],
          status.message ?? 'fine',
          `in ${parent?.name}`,
          endTime === undefined ? 'open' : 'ended',
        ].join(' '),
      )
      .sort();
  await expect
    .poll(told)
    .toEqual(
      [
        'volley.batch my#1 1 task failed in undefined ended',
        'volley.execution flaky fine in volley.batch ended',
        'volley.attempt 1 error in volley.execution ended',
        'volley.attempt 2 fine in volley.execution ended',
        'volley.execution broken error in volley.batch ended',
        'volley.attempt 1 error in volley.execution ended',
        'volley.execution alone fine in undefined ended',
        'volley.attempt 1 fine in volley.execution ended',
      ].sort(),
    );
  expect(JSON.stringify(spans.map(({ attributes, status }) => [attributes, status]))).not.toContain('hidden');
});

test('what is open when tracing stops is ended', async () => {
  const spans = keepSpans();
  const rig = await openRig();
  const { stop } = startTracing(rig.coordinator.engine, rig.executor);
  const handle = rig.coordinator.engine.submit({ toolName: 'long' }, ({ signal }) => {
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  await expect.poll(() => spans.length).toBe(3);
  stop();
  expect(spans.every(({ endTime }) => endTime !== undefined)).toBe(true);
  handle.cancel();
});
