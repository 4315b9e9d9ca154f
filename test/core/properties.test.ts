import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STATUS_NAMES, Status, TRANSITIONS } from '../../src/core/status.ts';
import { amount } from '../support/depth.ts';
import { heal, play, unsettled } from './support/play.ts';
import { crowdedScripts, type Script, scripts } from './support/script.ts';
import type { World } from './support/world.ts';

/** How often each transition was taken in all runs of this file: `from * 8 + to`. */
const transitionsTaken = new Uint32Array(STATUS_NAMES.length ** 2);

/** Plays a script, ends the faults, and lets everything end. The world itself throws where a promise is broken. */
function run(script: Script): World {
  const world = play(script);
  heal(world, script);
  for (const [index, times] of world.scheduler.lifecycle.transitionsTaken.entries())
    transitionsTaken[index]! += times;
  return world;
}

/** Nothing was lost, nothing counted twice, nothing kept. */
function expectRest(world: World, { options }: Script): void {
  const { scheduler, monitor } = world;
  const { lifecycle, dispatcher, graph, catalog, timeouts } = scheduler;
  expect(unsettled(world)).toEqual([]);
  const ends = STATUS_NAMES.map(
    (name) => [...monitor.specs.keys()].filter(({ statusName }) => statusName === name).length,
  );
  expect(lifecycle.counts).toEqual(ends);
  expect(new Set(dispatcher.resources.used)).toEqual(new Set([0]));
  expect([...dispatcher.resources.locks]).toEqual([]);
  expect(dispatcher.contest.first()).toBeUndefined();
  expect(dispatcher.reserved).toBeUndefined();
  expect([timeouts.firstAt, timeouts.listed]).toEqual([Number.POSITIVE_INFINITY, 0]);
  expect([...graph]).toHaveLength(Math.min(options.retainSettled ?? 0, monitor.specs.size));
  for (const group of catalog.groups.values()) expect(group.isPinned).toBe(true);
}

describe('a scheduler under random events', () => {
  it('breaks no promise while faults last, and lets everything end once they stop', {
    timeout: 300_000,
  }, () => {
    fc.assert(
      fc.property(scripts, (script) => {
        expectRest(run(script), script);
      }),
      { numRuns: amount({ quick: 60, deep: 600 }) },
    );
  });

  it('does so too where few tools crowd around few locks', { timeout: 300_000 }, () => {
    fc.assert(
      fc.property(crowdedScripts, (script) => {
        expectRest(run(script), script);
      }),
      { numRuns: amount({ quick: 40, deep: 400 }) },
    );
  });

  it('does the same again for the same events and the same seed', { timeout: 300_000 }, () => {
    fc.assert(
      fc.property(scripts, (script) => {
        expect(run(script).log).toEqual(run(script).log);
      }),
      { numRuns: amount({ quick: 6, deep: 50 }) },
    );
  });

  it('takes every transition of the table in these runs', () => {
    const missed = TRANSITIONS.filter(
      ({ from, to }) => transitionsTaken[Status[from] * 8 + Status[to]] === 0,
    );
    expect(missed.map(({ from, to }) => `${from} to ${to} was never taken`)).toEqual([]);
  });
});
