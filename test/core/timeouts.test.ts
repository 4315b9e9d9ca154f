import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Execution } from '../../src/core/execution.ts';
import { Status } from '../../src/core/status.ts';
import { DEFAULT_TERMS } from '../../src/core/terms.ts';
import { Timeouts } from '../../src/core/timers.ts';
import { describeEnd, World } from './support/world.ts';

function start(timeoutMs: number): Execution {
  const execution = new Execution();
  execution.terms = { ...DEFAULT_TERMS, timeoutMs };
  execution.state = Status.running;
  execution.nextAttempt();
  return execution;
}

function end(execution: Execution): void {
  execution.state = Status.completed;
}

type Step = readonly [kind: 'start' | 'end' | 'retry' | 'take' | 'trim', pick: number, stepMs: number];

const steps = fc.array(
  fc.tuple(
    fc.constantFrom<Step[0]>('start', 'start', 'start', 'end', 'end', 'retry', 'take', 'trim'),
    fc.nat(1000),
    fc.integer({ min: -2, max: 9 }),
  ),
  { maxLength: 600, size: 'max' },
);

describe('timeouts', () => {
  it('know the first of all limits, whatever ends and wherever the clock goes', () => {
    fc.assert(
      fc.property(steps, fc.constantFrom(1, 3, 20), (script, spans) => {
        const model = new Map<Execution, number>();
        // What is refused has a timer of its own.
        const timeouts = new Timeouts((execution, at) => {
          expect(model.get(execution)).toBe(at);
          model.delete(execution);
        });
        let now = 100;
        const add = (execution: Execution) => {
          expect(timeouts.add(execution, now)).toBe(true);
          model.set(execution, now + execution.terms.timeoutMs);
          expect(timeouts.earliest).toBeLessThanOrEqual(Math.min(...model.values()));
        };
        for (const [kind, pick, stepMs] of script) {
          now += stepMs;
          const chosen = [...model.keys()][pick % (model.size || 1)];
          if (kind === 'start') {
            add(start(10 + (pick % spans)));
          } else if (kind === 'take' && chosen !== undefined) {
            const first = Math.min(...model.values());
            const taken = timeouts.takeBefore(Number.POSITIVE_INFINITY)!;
            expect(model.get(taken)).toBe(first);
            model.delete(taken);
          } else if (kind === 'trim') {
            timeouts.trim(model.size);
            expect(timeouts.listed).toBeLessThanOrEqual(2 * model.size + 64);
          } else if (chosen !== undefined && kind === 'retry') {
            chosen.nextAttempt();
            add(chosen);
          } else if (chosen !== undefined) {
            end(chosen);
            model.delete(chosen);
          }
          expect(timeouts.firstAt).toBe(Math.min(...model.values()));
        }
        expect(new Map(timeouts)).toEqual(model);
        for (const execution of model.keys()) end(execution);
        expect(timeouts.firstAt).toBe(Number.POSITIVE_INFINITY);
        expect(timeouts.listed).toBe(0);
      }),
    );
  });

  it('take all that start in order, of a few spans', () => {
    const refused: Execution[] = [];
    const timeouts = new Timeouts((execution) => void refused.push(execution));
    for (let now = 0; now < 1000; now++) timeouts.add(start(10 + (now % 8)), now);
    expect([timeouts.listed, timeouts.firstAt, refused]).toEqual([1000, 10, []]);
  });

  it('leave further spans to others until those of one span have ended', () => {
    const refused: number[] = [];
    const timeouts = new Timeouts((_, at) => void refused.push(at));
    const first = Array.from({ length: 8 }, (_, index) => start(index + 1));
    for (const execution of first) timeouts.add(execution, 0);
    timeouts.add(start(9), 0);
    expect([timeouts.firstAt, refused]).toEqual([1, [9]]);
    end(first[3]!);
    timeouts.add(start(9), 1);
    timeouts.add(start(4), 1);
    expect([timeouts.firstAt, refused]).toEqual([1, [9, 5]]);
  });

  it('do not take what has other limits, or none', () => {
    const timeouts = new Timeouts(() => expect.unreachable());
    const stalls = start(10);
    stalls.terms = { ...stalls.terms, stallMs: 5 };
    const hasDeadline = start(10);
    hasDeadline.deadlineAt = 7;
    for (const execution of [stalls, hasDeadline, start(0)]) expect(timeouts.add(execution, 0)).toBe(false);
  });

  it('hold few that have ended behind one that runs on', () => {
    const world = new World({ limits: { concurrency: 3 } });
    const first = world.submit({ timeoutMs: 1000 });
    world.succeed(world.submit({ timeoutMs: 1000 }));
    const second = world.submit({ timeoutMs: 1000, retry: { maxRetries: 1, delayMs: 20 } });
    for (let count = 0; count < 500; count++) {
      if (count === 20) world.fail(second);
      else if (count < 100) world.advance(1);
      world.succeed(world.submit({ timeoutMs: 1000 }));
      expect(world.scheduler.timeouts.listed).toBeLessThanOrEqual(2 * 2 + 64);
    }
    expect([first.attempt, second.attempt]).toEqual([1, 2]);
    world.advance(1000);
    expect([first, second].map(describeEnd)).toEqual(['failed: timeout', 'failed: timeout']);
    expect(world.scheduler.timeouts.listed).toBe(0);
  });

  it('end each attempt at its own limit when the clock went back between', () => {
    const world = new World();
    world.now = 1000;
    const early = world.submit({ timeoutMs: 100 });
    world.now = 500;
    const late = world.submit({ timeoutMs: 100 });
    world.advance(99);
    expect([describeEnd(early), describeEnd(late)]).toEqual(['running', 'running']);
    world.advance(1);
    expect([describeEnd(early), describeEnd(late)]).toEqual(['running', 'failed: timeout']);
    world.advance(500);
    expect(describeEnd(early)).toBe('failed: timeout');
  });

  it('end what shares a moment in the order of its start', () => {
    const world = new World();
    for (const id of ['a', 'b', 'c', 'd', 'e']) world.submit({ id, timeoutMs: 100 });
    world.advance(100);
    expect(world.log.filter((line) => line.includes('stop'))).toEqual(
      ['a', 'b', 'c', 'd', 'e'].map((id) => `100 stop ${id}#1`),
    );
  });

  it('count from where the work began, and then again for the next attempt', () => {
    const world = new World();
    const execution = world.submit({ timeoutMs: 100, retry: { maxRetries: 1, delayMs: 0 } });
    world.advance(50);
    world.began(execution);
    world.advance(99);
    expect(describeEnd(execution)).toBe('running');
    world.fail(execution);
    world.advance(1);
    expect(execution.attempt).toBe(2);
    world.advance(98);
    expect(describeEnd(execution)).toBe('running');
    world.advance(2);
    expect(describeEnd(execution)).toBe('failed: timeout');
  });
});
