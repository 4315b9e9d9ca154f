import type { Execution } from '../execution.ts';
import type { Scheduler } from '../scheduler.ts';
import { isSettled, Status } from '../status.ts';
import { check, count } from './check.ts';

/** What each execution says of itself must agree with its status. */
export function checkStanding(execution: Execution): void {
  const { state, room, graceUntil, ending, home, claims } = execution;
  const isRunning = state === Status.running;
  const lingers = graceUntil !== 0;
  const mayLinger = state === Status.retrying || state === Status.failed || state === Status.cancelled;
  check(!lingers || mayLinger, 'only a stopped attempt lingers', execution);
  check(isRunning ? room !== 'none' : room !== 'lent', 'what runs, and only that, can lend room', execution);
  check(room !== 'held' || isRunning || lingers, 'room is held by what runs or lingers', execution);
  check(
    (home !== undefined) === (state === Status.queued),
    'only what is queued stands in a queue',
    execution,
  );
  check(isSettled(state) === execution.isDone, 'the graph knows what has settled', execution);
  const hasEnding = ending === undefined ? state <= Status.completed : ending.kind === execution.statusName;
  check(hasEnding, 'what did not complete has an ending that says so', execution);
  check(!isSettled(state) || lingers || claims === undefined, 'what has ended claims no lock', execution);
}

/** An execution waits for exactly what it must wait for, and no longer. */
export function checkDependencies(execution: Execution): void {
  const { state, dependencies = [], dependents = [], waitingFor, block } = execution;
  if (isSettled(state)) return;
  const isInPlace = block === undefined || block.nodes[execution.seq - block.firstSeq] === execution;
  check(isInPlace, 'who has a block stands in it, at the place of its number', execution);
  const open = dependencies.filter((dependency) => !isSettled(dependency.state));
  check(waitingFor === open.length, 'waitingFor is the number of unsettled dependencies', execution);
  for (const dependency of open) {
    const edges = count(dependency.dependents ?? [], (dependent) => dependent === execution);
    check(edges === 1, 'an unsettled dependency knows its dependent, once', execution);
  }
  for (const dependent of dependents) {
    const isMutual = dependent.isDone || dependent.dependencies?.includes(execution);
    check(isMutual === true, 'a dependent depends on what it is listed for', execution);
  }
  const { policy } = execution.terms;
  const isUnsuccessful = dependencies.some((dependency) => dependency.state > Status.completed);
  check(policy !== 'skip' || !isUnsuccessful, 'what a failed dependency rules out is skipped', execution);
  if (state === Status.pending) {
    check(open.length > 0, 'what waits for nothing is not pending', execution);
  } else {
    check(open.length === 0, 'nothing is queued before its dependencies have settled', execution);
    check(policy !== 'on-failure' || isUnsuccessful, 'a compensation follows a failure', execution);
  }
}

/** What is remembered can be found. */
export function checkIds({ graph }: Scheduler): void {
  for (const execution of graph) {
    const isFound = graph.find(execution.id) === execution;
    check(isFound, 'what is remembered is found by its id', execution);
  }
}
