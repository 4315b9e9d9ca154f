import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProgramCall, ProgramStep } from '../../src/script/program-session.ts';
import { Replay } from '../../src/script/replay.ts';
import { amount } from '../support/depth.ts';
import { type Played, play } from './support/play.ts';

const call = (index: number, changes: Partial<ProgramCall> = {}): ProgramCall => ({
  index,
  function: 'read',
  params: '{}',
  options: undefined,
  hash: `hash ${index}`,
  after: 0,
  ...changes,
});
const step = (changes: Partial<ProgramStep>): ProgramStep => ({
  delivered: 0,
  calls: [],
  log: [],
  progress: undefined,
  outcome: undefined,
  ...changes,
});
const DIVERGED = expect.objectContaining({ code: 'PROGRAM_DIVERGED' });

describe('Replay', () => {
  const calls = [call(0), call(1), call(2, { after: 1 }), call(3, { after: 3 })];
  const journal = { calls, deliveries: [] };

  it('returns the calls that are new', () => {
    const fresh = new Replay({ calls: [], deliveries: [] });
    expect(fresh.accept(step({ calls }))).toEqual(calls);

    const replay = new Replay(journal);
    expect(replay.accept(step({ calls: calls.slice(0, 2) }))).toEqual([]);
    expect(replay.accept(step({ delivered: 2, calls: [calls[2]!] }))).toEqual([]);
    const more = [calls[3]!, call(4, { after: 3 })];
    expect(replay.accept(step({ delivered: 3, calls: more }))).toEqual([more[1]]);
  });

  it.each<[string, Partial<ProgramStep>]>([
    ['another function', { calls: [call(0, { function: 'write' }), call(1)] }],
    ['other arguments', { calls: [call(0), call(1, { hash: 'other' })] }],
    ['a call too early', { calls: [call(0), call(1), call(2)] }],
    ['a call too late', { delivered: 2, calls: [call(0), call(1), call(2, { after: 2 })] }],
    ['a call too few', { calls: [call(0)] }],
    ['no calls', { calls: [] }],
    [
      'an end before all calls were made',
      { delivered: 1, calls: calls.slice(0, 3), outcome: { value: '1', inFlight: [] } },
    ],
  ])('notices %s', (_, changes) => {
    expect(() => new Replay(journal).accept(step(changes))).toThrow(DIVERGED);
  });
});

describe('a program that is played again', () => {
  const source = `const first = await Promise.race([tools.a(1), tools.b(2)]);
    return [first, await tools.c(first), Date.now()]`;

  it('gets its results in the order in which it got them before, not in that of its calls', async () => {
    const choose = (inFlight: readonly number[]) => inFlight.at(-1)!;
    const whole = await play({ source, choose });
    expect(whole.outcome).toMatchObject({ value: expect.stringMatching(/^\[2,2,/) });
    const part = await play({ source, choose, stopAfter: 1 });
    expect(part.outcome).toBeUndefined();
    expect(await play({ source, choose, journal: part.journal })).toEqual(whole);
  });

  it('is told if it does something else than before', async () => {
    const { journal } = await play({ source, stopAfter: 1 });
    for (const other of [
      source.replace('tools.a(1)', 'tools.a(3)'),
      source.replace('tools.b', 'tools.d'),
      source.replace('tools.c(first)', '1'),
      'return 1',
      'await tools.a(1); return 1',
    ]) {
      await expect(play({ source: other, journal })).rejects.toMatchObject({ code: 'PROGRAM_DIVERGED' });
    }
  });

  it('does the same under any order of deliveries, wherever it was stopped', async () => {
    const numbers = fc.integer({ min: 0, max: 99 });
    const { expression } = fc.letrec<{ expression: string }>((tie) => {
      const inner = tie('expression');
      const some = fc.array(inner, { minLength: 1, maxLength: 3 }).map((list) => list.join(', '));
      return {
        expression: fc.oneof(
          { maxDepth: 3, withCrossShrink: true },
          numbers.map((n) => `tools.ok(${n})`),
          numbers.map((n) => `tools.fail(${n})`),
          numbers.map((n) => `tools.ok([${n}, Date.now(), Math.random()])`),
          some.map((list) => `Promise.all([${list}])`),
          some.map((list) => `Promise.race([${list}])`),
          some.map((list) => `Promise.any([${list}])`),
          some.map((list) => `Promise.allSettled([${list}])`),
          inner.map((one) => `${one}.then((value) => tools.ok([value, Date.now()]))`),
          inner.map((one) => `${one}.catch((error) => tools.ok([show(error), Math.random()]))`),
          inner.map((one) => `${one}.finally(() => tools.ok('finally'))`),
          fc.tuple(inner, inner).map(([a, b]) => `(async () => [await ${a}, Math.random(), await ${b}])()`),
          fc
            .tuple(inner, fc.integer({ min: 1, max: 3 }))
            .map(([one, n]) => `parallel([1, 2, 3], async (n) => [n, await ${one}], { concurrency: ${n} })`),
        ),
      };
    });
    const program = fc.array(expression, { minLength: 1, maxLength: 3 }).map(
      (list) => `const show = (error) => [error.name, error.code, error.callId, error.errors?.map(show)];
        const out = [];
        ${list.map((one) => `try { out.push(await ${one}) } catch (error) { out.push(show(error)) }`).join('\n')}
        return [out, Date.now(), Math.random()]`,
    );
    const order = fc.array(fc.nat(), { minLength: 1, maxLength: 20 });

    await fc.assert(
      fc.asyncProperty(program, order, fc.nat(), fc.nat(), async (text, picks, where, again) => {
        const choose = (inFlight: readonly number[], position: number) =>
          inFlight[picks[position % picks.length]! % inFlight.length]!;
        const whole = await play({ source: text, choose });
        expect(whole.outcome).toHaveProperty('value');

        // Stopped twice: the second time possibly while it is being played again.
        const count = whole.journal.deliveries.length;
        const once = await play({ source: text, choose, stopAfter: where % (count + 1) });
        const twice: Played =
          once.outcome === undefined
            ? await play({ source: text, choose, journal: once.journal, stopAfter: again % (count + 1) })
            : once;
        const { journal, outcome } = await play({ source: text, choose, journal: twice.journal });
        expect({ journal, outcome }).toEqual({ journal: whole.journal, outcome: whole.outcome });
      }),
      { numRuns: amount({ quick: 30, deep: 1000 }) },
    );
  });
});
