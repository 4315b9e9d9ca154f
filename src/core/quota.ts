import { checkNames } from './demand.ts';
import { ClassQueue, type DemandClass } from './demand-class.ts';
import { VolleyError } from './errors.ts';
import type { Execution } from './execution.ts';
import { show } from './numbers.ts';
import type { Timed } from './timers.ts';

/** A limit that an attempt ran into: a rate limit or a usage limit of a service. */
export interface LimitHit {
  /** The quota that is used up. By default the one that the attempt counts against. */
  readonly scope?: string;
  /** How long the service asks to wait. */
  readonly retryAfterMs?: number;
}

/** A quota that limits what starts now. */
export interface QuotaStanding {
  readonly scope: string;
  /** How long it is still paused; 0 if it is open again, but not yet for all. */
  readonly pausedForMs: number;
  readonly running: number;
  /** How many may run at once now. */
  readonly allowed: number;
  /** How often in a row it was found to be used up. */
  readonly refusals: number;
}

/** No pause is longer, whatever a service says: usage limits are daily or weekly. Then a probe asks again. */
export const MAX_PAUSE_MS = 7 * 24 * 3_600_000;
/** After this many refusals an execution is no longer put back: the refusal counts as a failed attempt. */
export const MAX_REFUSALS = 50;
/** A probe that runs for so long was not refused. */
export const PROBE_MS = 60_000;
const FIRST_BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 15 * 60_000;
const MAX_QUOTAS = 1000;
const MAX_NAME_LENGTH = 256;
const MAX_ALTERNATIVES = 16;

/**
 * What was learned about one quota of an outside service. It exists from the first refusal until as many attempts run
 * at once as then.
 *
 * A refusal pauses it. After the pause one attempt goes first, as a probe. Once that is accepted, half as many as
 * before the refusal may run at once, and one more for each round of successes.
 */
export class Quota implements Timed {
  readonly kind = 'one-quota';
  timerIndex = -1;
  until = 0;
  /** The attempts that count against it now. */
  running = 0;
  allowed: number;
  /** Refusals since the last success. */
  refusals = 0;
  /** Attempts that started earlier say nothing about what came after. */
  refusedAt = -1;
  /** Whether nothing was accepted since the last refusal. */
  isProbing = false;
  probe: Execution | undefined;
  private accepted = 0;

  constructor(
    readonly name: string,
    /** How many ran at once when it was first used up. */
    readonly peak: number,
  ) {
    this.allowed = peak;
  }

  isOpen(now: number): boolean {
    if (now < this.until) return false;
    return this.isProbing ? this.probe === undefined : this.running < this.allowed;
  }

  refuse(startedAt: number, retryAfterMs: number | undefined, running: number, now: number): void {
    // Those that ran together are refused together, which is one refusal.
    if (startedAt > this.refusedAt) {
      this.refusals++;
      this.allowed = Math.max(1, Math.floor(Math.min(this.allowed, running) / 2));
      this.accepted = 0;
    }
    this.refusedAt = now;
    this.isProbing = true;
    this.probe = undefined;
    // One that keeps refusing is asked less and less often, even if it promises more.
    const least = this.refusals > 1 ? backoffMs(this.refusals - 1) : 1;
    const pauseMs = Math.max(least, retryAfterMs ?? backoffMs(this.refusals));
    this.until = Math.max(this.until, now + Math.min(MAX_PAUSE_MS, Math.ceil(pauseMs)));
  }

  /** Records that the service accepted an attempt. Returns whether more may start. */
  accept(startedAt: number, isSuccess: boolean): boolean {
    if (startedAt <= this.refusedAt) return false;
    this.refusals = 0;
    if (this.isProbing) {
      this.isProbing = false;
      this.probe = undefined;
      return true;
    }
    if (!isSuccess || ++this.accepted < this.allowed) return false;
    this.accepted = 0;
    this.allowed++;
    return true;
  }

  get isRecovered(): boolean {
    return !this.isProbing && this.allowed > this.peak;
  }
}

function backoffMs(refusals: number): number {
  return Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (refusals - 1));
}

/** The quotas that are used up or recover from it. Usually there are none, and then nothing is asked. */
export class Quotas {
  readonly kind = 'quota';
  readonly waiters = new ClassQueue(false);
  readonly byName = new Map<string, Quota>();
  /** Whether a refusal is an ordinary failure, because the caller handles pauses itself. */
  isOff = false;

  /** A field, because it is asked several times for each execution, and the size of a map takes longer. */
  isEmpty = true;

  /** Whether an execution of the class may start as far as quotas go: one of its own must be open. */
  isOpen(demand: DemandClass, now: number): boolean {
    const { quotas } = demand;
    if (quotas === undefined) return this.isOpenFor(demand.tool.name, now);
    return quotas.some((name) => this.isOpenFor(name, now));
  }

  /** Of the quotas of a class, the one that opens first. */
  blocking({ quotas, tool }: DemandClass): Quota | undefined {
    const all = (quotas ?? [tool.name]).flatMap((name) => this.byName.get(name) ?? []);
    return all.reduce<Quota | undefined>(
      (best, one) => (best === undefined || one.until < best.until ? one : best),
      undefined,
    );
  }

  /**
   * Chooses what an attempt that starts counts against: the first open quota, from the one that this attempt prefers. Each
   * failed attempt prefers the next; the last one stays.
   */
  choose(execution: Execution, now: number): void {
    const { quotas } = execution.demand;
    if (quotas === undefined || quotas.length === 1) return;
    const first = Math.min(execution.countedAttempts, quotas.length - 1);
    const order = [...quotas.slice(first), ...quotas.slice(0, first)];
    execution.quota = order.find((name) => this.isOpenFor(name, now)) ?? order[0]!;
  }

  occupy(execution: Execution): void {
    const quota = this.byName.get(execution.quota);
    if (quota === undefined) return;
    quota.running++;
    if (quota.isProbing) quota.probe ??= execution;
  }

  vacate(execution: Execution): void {
    const quota = this.byName.get(execution.quota);
    if (quota === undefined) return;
    quota.running--;
    if (quota.probe === execution) quota.probe = undefined;
  }

  /**
   * The quota of this name; undefined if there are too many. `holders` are all that run. Calls `forget` for those that make
   * room for it.
   */
  open(name: string, holders: readonly Execution[], forget: (quota: Quota) => void): Quota | undefined {
    const known = this.byName.get(name);
    if (known !== undefined || this.isOff) return known;
    if (this.byName.size >= MAX_QUOTAS) this.forgetUnused(forget);
    if (this.byName.size >= MAX_QUOTAS) return undefined;
    const running = holders.reduce((sum, holder) => sum + (holder.quota === name ? 1 : 0), 0);
    const quota = new Quota(name, Math.max(1, running + 1));
    quota.running = running;
    this.byName.set(name, quota);
    this.isEmpty = false;
    return quota;
  }

  forget(name: string): void {
    this.byName.delete(name);
    this.isEmpty = this.byName.size === 0;
  }

  standings(now: number): QuotaStanding[] {
    return [...this.byName.values()].map((quota) => standingOf(quota, now));
  }

  private isOpenFor(name: string, now: number): boolean {
    return this.byName.get(name)?.isOpen(now) !== false;
  }

  /**
   * Forgets half of the quotas that nothing uses now, those first that were refused longest ago. A tool can name any
   * number of them. If one is needed after all, that costs one more refusal.
   */
  private forgetUnused(forget: (quota: Quota) => void): void {
    const awaited = new Set<string>();
    for (const { quotas, tool } of this.waiters) for (const name of quotas ?? [tool.name]) awaited.add(name);
    const unused = [...this.byName.values()].filter(
      ({ name, running }) => running === 0 && !awaited.has(name),
    );
    unused.sort((a, b) => a.refusedAt - b.refusedAt);
    for (const quota of unused.slice(0, Math.ceil(unused.length / 2))) {
      this.forget(quota.name);
      forget(quota);
    }
  }
}

export function standingOf(quota: Quota, now: number): QuotaStanding {
  const { name: scope, until, running, isProbing, refusals } = quota;
  const allowed = isProbing ? 1 : quota.allowed;
  return { scope, pausedForMs: Math.max(0, until - now), running, allowed, refusals };
}

/** The quotas of a specification; undefined if there is only that of the tool. */
export function checkQuotas(quota: unknown, toolName: string): readonly string[] | undefined {
  if (quota === undefined || quota === toolName) return undefined;
  const names = typeof quota === 'string' ? [quota] : quota;
  checkNames('quota', names as readonly string[]);
  const list = names as readonly string[];
  const isWrong = list.some((name) => name.length > MAX_NAME_LENGTH);
  if (isWrong || list.length === 0 || list.length > MAX_ALTERNATIVES)
    throw new VolleyError(
      'INVALID_VALUE',
      `quota must be 1 to ${MAX_ALTERNATIVES} names of at most ${MAX_NAME_LENGTH} characters, but it is ${show(quota)}.`,
    );
  return [...list];
}
