import { Counter, Gauge, type Registry } from 'prom-client';
import type { ParallelExecutionEngine } from '../../engine/engine.ts';
import { useOf } from './use.ts';

const OPEN = ['pending', 'queued', 'running', 'retrying'] as const;
const ENDED = ['completed', 'failed', 'cancelled', 'skipped'] as const;

/** What the engine does now, asked for when somebody reads it. */
export function addEngineMetrics(engine: ParallelExecutionEngine, registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'volley_executions',
    help: 'Executions that have not ended, by status.',
    labelNames: ['status'],
    registers,
    collect() {
      const { counts } = engine.statistics();
      for (const status of OPEN) this.set({ status }, counts[status]);
    },
  });
  new Gauge({
    name: 'volley_queued_executions',
    help: 'Executions that wait for room, by priority.',
    labelNames: ['priority'],
    registers,
    collect() {
      for (const [priority, count] of Object.entries(engine.queued())) this.set({ priority }, count);
    },
  });
  new Counter({
    name: 'volley_executions_ended_total',
    help: 'Executions that have ended, by status.',
    labelNames: ['status'],
    registers,
    collect() {
      const { counts } = engine.statistics();
      this.reset();
      for (const status of ENDED) this.inc({ status }, counts[status]);
    },
  });
  new Counter({
    name: 'volley_attempts_abandoned_total',
    help: 'Attempts that were told to stop and did not in their grace period.',
    registers,
    collect() {
      this.reset();
      this.inc(engine.statistics().abandoned);
    },
  });
  new Gauge({
    name: 'volley_resource_used',
    help: 'How much of a resource running executions hold.',
    labelNames: ['resource'],
    registers,
    collect() {
      for (const { name, used } of useOf(engine)) this.set({ resource: name }, used);
    },
  });
  new Gauge({
    name: 'volley_resource_limit',
    help: 'How much of a resource there is; a resource without a limit is not listed.',
    labelNames: ['resource'],
    registers,
    collect() {
      this.reset();
      for (const { name, limit } of useOf(engine)) if (limit !== null) this.set({ resource: name }, limit);
    },
  });
}
