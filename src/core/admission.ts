import type { Catalog } from './catalog.ts';
import type { KnownFields } from './check-known.ts';
import {
  checkNames,
  neededAmounts,
  neededLocks,
  type ResourceRequirements,
  type ResourceVector,
} from './demand.ts';
import { VolleyError } from './errors.ts';
import type { Execution } from './execution.ts';
import type { Group } from './group.ts';
import { checkLabels } from './labels.ts';
import { checkBoolean, checkNumber, checkSpanMs, MAX_SPAN_MS, show } from './numbers.ts';
import { priorityLevel } from './priority.ts';
import { checkQuotas } from './quota.ts';
import type { ResourceAccounts } from './resources.ts';
import type { ExecutionSpec } from './spec.ts';
import { DEFAULT_TERMS, resolveTerms } from './terms.ts';
import { wishedStart } from './urgency.ts';
import { unclaimed } from './usage.ts';

const MAX_NAME_LENGTH = 256;

/** Scratch space for a specification's needs before they are compared with the known classes. */
const scratch: number[] = [];

/** How many demands a {@link KnownNeeds} remembers. */
const MAX_KNOWN = 8;

/**
 * The first few demands of a group and their needs. Executions of a tool usually share one `resources` object, which is
 * then read and checked once. It is cleared before the caller can change such an object.
 */
export class KnownNeeds {
  private readonly demands: ResourceRequirements[] = [];
  private readonly needs: ResourceVector[] = [];

  find(demand: ResourceRequirements): ResourceVector | undefined {
    const { demands } = this;
    for (let index = 0; index < demands.length; index++)
      if (demands[index] === demand) return this.needs[index];
    return undefined;
  }

  add(demand: ResourceRequirements, needs: ResourceVector): void {
    if (this.demands.length === MAX_KNOWN) return;
    this.demands.push(demand);
    this.needs.push([...needs]);
  }

  clear(): void {
    this.demands.length = this.needs.length = 0;
  }
}

/** What an admission depends on. */
export interface Admitting {
  readonly catalog: Catalog;
  readonly resources: ResourceAccounts;
  readonly stepMs: number;
  /** All field names of a specification, including those only the shell reads. */
  readonly fields: KnownFields;
  /** Of the group that is being submitted. */
  readonly knownNeeds: KnownNeeds;
}

/**
 * Validates a specification and fills a blank execution with it. Nothing is counted, linked or queued yet, so an error
 * leaves no trace.
 */
export function fill(
  { catalog, resources, stepMs, fields, knownNeeds }: Admitting,
  execution: Execution,
  spec: ExecutionSpec,
  seq: number,
  now: number,
  ofGroup?: Group,
): void {
  const { toolName, priority, conflictsWith, estimatedMs } = spec;
  fields.check(spec);
  checkToolName(toolName);
  const level = priorityLevel(priority);
  const checked = spec.resources === undefined ? undefined : knownNeeds.find(spec.resources);
  const claimed = checked ?? neededAmounts(spec.resources, scratch, resources.names);
  if (spec.learnUsage !== undefined) checkBoolean('learnUsage', spec.learnUsage);
  const locks = neededLocks(spec.resources);
  if (conflictsWith !== undefined) checkNames('conflictsWith', conflictsWith);
  if (spec.group !== undefined) checkGroupOf(spec.group, ofGroup);
  if (spec.on !== undefined) checkLabels('on', spec.on);
  const quotas = spec.quota === undefined ? undefined : checkQuotas(spec.quota, toolName);
  if (spec.dependsOn !== undefined && !Array.isArray(spec.dependsOn)) {
    throw new VolleyError(
      'INVALID_VALUE',
      `dependsOn must be a list of ids or handles, but it is ${show(spec.dependsOn)}.`,
    );
  }
  const deadlineMs = checkSpanMs('deadlineMs', spec.deadlineMs);
  if (estimatedMs !== undefined) checkNumber('estimatedMs', estimatedMs, { min: 0, max: MAX_SPAN_MS });
  const known = catalog.tools.get(toolName);
  const learns = spec.learnUsage === true ? unclaimed(spec.resources) : 0;
  const needs =
    learns === 0 || known?.usage === undefined
      ? claimed
      : known.usage.applyTo(claimed, learns, resources.limits);
  if (needs !== checked) resources.assertPossible(needs, spec);
  if (ofGroup !== undefined && checked === undefined && spec.resources !== undefined)
    knownNeeds.add(spec.resources, claimed);

  const terms = resolveTerms(spec, known === undefined ? DEFAULT_TERMS : known.terms);
  const tool = known ?? catalog.tool(toolName);
  tool.terms = terms;
  const group = ofGroup ?? catalog.group(spec.group, now);
  const demand = catalog.demandClass(
    tool,
    group,
    needs,
    catalog.conflicts(conflictsWith),
    learns,
    spec.on,
    quotas,
  );
  execution.seq = seq;
  execution.name = spec.id;
  execution.demand = demand;
  execution.level = level;
  execution.submittedAt = now;
  execution.urgentBy = wishedStart(level, now, stepMs);
  execution.estimateMs =
    estimatedMs === undefined ? tool.durations.estimateMs() : Math.max(1, Math.round(estimatedMs));
  execution.pathMs = execution.estimateMs;
  execution.terms = terms;
  if (deadlineMs !== 0) execution.deadlineAt = now + deadlineMs;
  if (locks.length > 0) execution.claims = resources.locks.claim(locks);
}

/** While no tool is known, what callers estimate is the best guess for executions without an estimate. */
export function guessByEstimates({ catalog: { unknown } }: Admitting, filled: readonly Execution[]): void {
  if (unknown.isLearned) return;
  const before = unknown.guessMs;
  for (const { ownEstimateMs } of filled) if (ownEstimateMs > 0) unknown.noteEstimate(ownEstimateMs);
  const { guessMs } = unknown;
  if (guessMs === before) return;
  for (const execution of filled)
    if (!execution.terms.isEstimated) execution.pathMs = execution.estimateMs = guessMs;
}

/** Undoes `fill`, after another execution of the group was rejected. */
export function discard({ resources, catalog }: Admitting, filled: readonly Execution[]): void {
  for (const execution of filled) {
    if (execution.claims !== undefined) resources.locks.forget(execution);
    if (execution.demand.unsettled === 0) catalog.release(execution.demand);
  }
}

function checkToolName(name: unknown): asserts name is string {
  if (typeof name === 'string' && name !== '' && name.length <= MAX_NAME_LENGTH) return;
  throw new VolleyError(
    'INVALID_VALUE',
    `toolName must be a string of 1 to ${MAX_NAME_LENGTH} characters, but it is ${show(name)}.`,
  );
}

function checkGroupOf(name: unknown, ofGroup: Group | undefined): void {
  checkGroupName(name);
  if (ofGroup === undefined || name === ofGroup.name) return;
  throw new VolleyError(
    'INVALID_VALUE',
    `An execution of group ${show(ofGroup.name)} cannot also be in group ${show(name)}.`,
  );
}

export function checkGroupName(name: unknown): asserts name is string {
  if (typeof name === 'string' && name !== '' && name.length <= MAX_NAME_LENGTH) return;
  throw new VolleyError(
    'INVALID_VALUE',
    `group must be a string of 1 to ${MAX_NAME_LENGTH} characters, but it is ${show(name)}.`,
  );
}
