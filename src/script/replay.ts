import { createHash } from 'node:crypto';
import { VolleyError } from '../core/errors.ts';
import type { ProgramCall, ProgramStep } from './program-session.ts';

/** What is stored of a call before it starts. Calls are numbered in the order in which the program made them. */
export type RecordedCall = Pick<ProgramCall, 'function' | 'hash' | 'after'>;

/** What is stored of a delivery before it happens: of which call, and when. Its value is that of the call. */
export interface RecordedDelivery {
  readonly index: number;
  /** The time in ms since 1970; the program's clock until the next delivery. */
  readonly at: number;
}

/** What a program has done so far. */
export interface ProgramJournal {
  readonly calls: readonly RecordedCall[];
  readonly deliveries: readonly RecordedDelivery[];
}

/**
 * Compares a program that runs again with its journal. The deliveries of the journal are given to it in their order, and
 * then new ones; it must make the same calls after each as it did before. Without I/O.
 */
export class Replay {
  private made = 0;

  constructor(private readonly journal: ProgramJournal) {}

  /**
   * Takes what the program did, and returns the calls that are not in the journal: those to store and to start. Throws
   * `PROGRAM_DIVERGED` if it did something else than before.
   */
  accept({ delivered, calls, outcome }: ProgramStep): readonly ProgramCall[] {
    const recorded = this.journal.calls;
    for (const call of calls) {
      const before = recorded[this.made];
      if (before !== undefined) requireSame(before, call);
      this.made++;
    }
    const missing = recorded[this.made];
    if (missing !== undefined && (outcome !== undefined || missing.after <= delivered)) {
      throw divergence(this.made, missing, undefined);
    }
    return calls.filter(({ index }) => index >= recorded.length);
  }
}

function requireSame(before: RecordedCall, call: ProgramCall): void {
  const { function: name, hash, after } = call;
  if (before.function !== name || before.hash !== hash || before.after !== after) {
    throw divergence(call.index, before, call);
  }
}

function divergence(index: number, before: RecordedCall, now: RecordedCall | undefined): VolleyError {
  const what =
    now === undefined
      ? 'it did not make that call'
      : now.function !== before.function
        ? `it called ${now.function}`
        : now.hash !== before.hash
          ? 'its arguments were different'
          : 'it made the call at another time';
  const message = `The program behaved differently than before it was interrupted: call ${index} was ${before.function}, and now ${what}. Start it over with retry.`;
  return Object.assign(new VolleyError('PROGRAM_DIVERGED', message, { index, before, now }), {
    retryable: false,
  });
}

/** The hash of the arguments and options of a call, given as JSON texts. */
export function hashOf(params: string, options: string | undefined): string {
  const list = options === undefined ? [params] : [params, options];
  const text = list.map((json) => canonicalJson(JSON.parse(json))).join(',');
  return createHash('sha256').update(text).digest('hex');
}

/** JSON with the keys of every object in order. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const object = value as Record<string, unknown>;
  const keys = Object.keys(object).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key])}`).join(',')}}`;
}
