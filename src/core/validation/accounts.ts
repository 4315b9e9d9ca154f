import { RESOURCES } from '../demand.ts';
import type { Execution } from '../execution.ts';
import type { Group } from '../group.ts';
import type { Scheduler } from '../scheduler.ts';
import { isSettled, STATUS_NAMES, type StatusCode } from '../status.ts';
import type { Tool } from '../tool.ts';
import { check, count } from './check.ts';

/** The executions, and those of them that have not settled and that hold room. */
export interface Census {
  readonly all: readonly Execution[];
  readonly unsettled: readonly Execution[];
  readonly holding: readonly Execution[];
  /** Whether more may be in use than the limits allow now. */
  readonly limitsWereLowered: boolean;
}

export function checkUse({ dispatcher }: Scheduler, { holding, limitsWereLowered }: Census): void {
  const { used, limits } = dispatcher.resources;
  const isListed = holding.every((execution) => dispatcher.holders[execution.place] === execution);
  check(
    isListed && dispatcher.holders.length === holding.length,
    'who holds room is listed, and nobody else',
  );
  for (const [index, name] of RESOURCES.entries()) {
    const sum = holding.reduce((total, { demand }) => total + demand.needs[index]!, 0);
    check(used[index] === sum, `the ${name} in use (${used[index]}) is what is held (${sum})`);
    check(limitsWereLowered || sum <= limits[index]!, `the ${name} in use (${sum}) is within the limit`);
  }
  for (const execution of holding) {
    const { tool, conflicts } = execution.demand;
    const isAlone = conflicts.every((other) => other.running === (other === tool ? 1 : 0));
    check(isAlone, 'nothing runs together with what it conflicts with', execution);
  }
}

export function checkTools({ catalog }: Scheduler, { unsettled, holding, limitsWereLowered }: Census): void {
  const namedBy = new Map<Tool, number>();
  for (const { classes } of catalog.tools.values())
    for (const { conflicts } of classes)
      for (const other of conflicts) namedBy.set(other, (namedBy.get(other) ?? 0) + 1);
  for (const tool of catalog.tools.values()) {
    const isCounted = tool.namedBy === (namedBy.get(tool) ?? 0);
    check(isCounted, `the tool ${tool.name} counts the classes that conflict with it`);
  }
  for (const tool of new Set([...catalog.tools.values(), ...holding.map(({ demand }) => demand.tool)])) {
    const running = count(holding, ({ demand }) => demand.tool === tool);
    const conflictedBy = count(holding, ({ demand }) => demand.conflicts.includes(tool));
    const open = count(unsettled, ({ demand }) => demand.tool === tool);
    check(tool.running === running, `the tool ${tool.name} counts what runs`);
    check(tool.conflictedBy === conflictedBy, `the tool ${tool.name} counts what conflicts with it`);
    check(tool.unsettled === open, `the tool ${tool.name} counts what is unsettled`);
    check(limitsWereLowered || running <= tool.maxConcurrency, `the tool ${tool.name} is within its limit`);
  }
  for (const execution of unsettled) {
    const { tool, group } = execution.demand;
    check(catalog.tools.get(tool.name) === tool, 'the tool of an unsettled execution is known', execution);
    const known = group === catalog.root || catalog.groups.get(group.name) === group;
    check(known, 'the group of an unsettled execution is known', execution);
  }
}

export function checkClasses({ unsettled }: Census): void {
  for (const execution of unsettled) {
    const { demand } = execution;
    const isListed = demand.tool.classes.includes(demand) && demand.group.classes.includes(demand);
    check(isListed, 'the class of an unsettled execution is known', execution);
    const own = count(unsettled, (other) => other.demand === demand);
    check(demand.unsettled === own, 'a class counts what is unsettled', execution);
  }
}

export function checkGroups({ catalog }: Scheduler, { unsettled, holding, limitsWereLowered }: Census): void {
  const busy = holding.map(({ demand }) => demand.group);
  for (const group of new Set([catalog.root, ...catalog.groups.values(), ...busy])) {
    const running = count(holding, ({ demand }) => demand.group === group);
    check(group.running === running, `the group ${group.name} counts what runs`);
    check(
      limitsWereLowered || running <= group.maxConcurrency,
      `the group ${group.name} is within its limit`,
    );
    const members = unsettled.filter(({ demand }) => demand.group === group);
    checkMembers(group, members);
    checkCounts(group.counts, members, `of the group ${group.name}`);
  }
}

function checkMembers(group: Group, members: readonly Execution[]): void {
  const listed = new Set<Execution>();
  for (const member of group.unsettledMembers()) {
    check(!listed.has(member), `the group ${group.name} lists each execution once`, member);
    listed.add(member);
  }
  const isComplete = listed.size === members.length && members.every((member) => listed.has(member));
  check(isComplete, `the group ${group.name} lists its unsettled executions`);
  check(group.unsettled === members.length, `the group ${group.name} counts its unsettled executions`);
}

/** Settled ones are counted for ever, but only some of them are remembered. */
export function checkCounts(counts: readonly number[], unsettled: readonly Execution[], whose: string): void {
  for (const [status, name] of STATUS_NAMES.entries()) {
    if (isSettled(status as StatusCode)) continue;
    const found = count(unsettled, (execution) => execution.state === status);
    check(
      counts[status] === found,
      `the count of ${name} ones ${whose} (${counts[status]}) is right (${found})`,
    );
  }
}
