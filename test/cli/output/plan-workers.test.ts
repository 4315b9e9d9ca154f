import { describe, expect, it } from 'vitest';
import { bottlenecksOf } from '../../../src/batch/forecast/bottlenecks.ts';
import { planDryRun } from '../../../src/cli/session/dry-run.ts';
import { parseWorkers } from '../../../src/cli/session/plan-workers.ts';

const task = (id: string, cpu: number, on?: Record<string, string | boolean>) => ({
  id,
  name: id,
  function: id,
  dependsOn: [],
  expectedMs: 1000,
  terms: { resources: { cpu, memoryMb: 0, io: 'none' as const }, ...(on !== undefined && { on }) },
});

describe('a plan for workers', () => {
  it('reads kinds of workers', () => {
    const workers = parseWorkers('2x cpu=8,memory_mb=16000,gpu=1; max_concurrency=4,zone=a,fast=true');
    expect(workers).toEqual([
      { id: 'w1', capacity: { cpu: 8, memoryMb: 16_000, resources: { gpu: 1 } }, labels: { worker: 'w1' } },
      { id: 'w2', capacity: { cpu: 8, memoryMb: 16_000, resources: { gpu: 1 } }, labels: { worker: 'w2' } },
      {
        id: 'w3',
        capacity: { concurrency: 4, resources: {} },
        labels: { zone: 'a', fast: true, worker: 'w3' },
      },
    ]);
  });

  it.each(['', '0x cpu=1', '2000x cpu=1', 'cpu', 'cpu=-1', 'cpu=none', 'worker=me'])('refuses %j', (text) => {
    expect(() => parseWorkers(text)).toThrowError(expect.objectContaining({ code: 'INVALID_VALUE' }));
  });

  it('says where each task runs, and refuses one that fits nowhere', () => {
    const workers = parseWorkers('cpu=2,zone=a; cpu=2,zone=b');
    const tasks = [task('one', 2, { zone: 'b' }), task('two', 2), task('three', 2)];
    const plan = planDryRun('x', tasks, 8, {}, { workers });
    expect(plan.expectedMs).toBe(2000);
    expect(plan.tasks.find(({ task: { id } }) => id === 'one')).toMatchObject({ worker: 'w2' });
    expect(() => planDryRun('x', [task('large', 3)], 8, {}, { workers })).toThrowError(
      expect.objectContaining({ code: 'INVALID_VALUE', details: { id: 'large' } }),
    );
  });

  it('knows the bound of all workers and of the largest tasks, and what one more would gain', () => {
    const workers = parseWorkers('2x cpu=4,max_concurrency=2');
    // Two of them never fit on one worker, so four take two rounds, although their work would fit into 1.5.
    const executions = ['a', 'b', 'c', 'd'].map((id) => ({
      id,
      toolName: id,
      durationMs: 1000,
      estimatedMs: 1000,
      timeoutMs: Number.POSITIVE_INFINITY,
      resources: { cpu: 3, memoryMb: 0, io: 'none' as const },
    }));
    const { boundMs, expectedMs, limits, gains } = bottlenecksOf(executions, {}, { workers });
    expect([boundMs, expectedMs]).toEqual([2000, 2000]);
    expect(limits).toContainEqual(
      expect.objectContaining({ kind: 'largest', name: 'cpu', ms: 2000, capacity: 2 }),
    );
    expect(limits).toContainEqual(
      expect.objectContaining({ kind: 'resource', name: 'cpu', ms: 1500, capacity: 8 }),
    );
    const gainOf = (kind: string) => gains.find(({ limit }) => limit.kind === kind)!.expectedMs;
    expect([gainOf('worker'), gainOf('slots')]).toEqual([2000, 2000]);
    const many = bottlenecksOf(executions.slice(0, 3), {}, { workers });
    expect(many.gains.find(({ limit }) => limit.kind === 'worker')!.expectedMs).toBe(1000);
  });
});
