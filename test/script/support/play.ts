import {
  DEFAULT_LIMITS,
  type ProgramCall,
  type ProgramDelivery,
  type ProgramLimits,
  type ProgramOutcome,
  ProgramSession,
} from '../../../src/script/program-session.ts';
import { type RecordedDelivery, Replay } from '../../../src/script/replay.ts';

/** What was stored of a program. */
interface Journal {
  readonly calls: readonly ProgramCall[];
  readonly deliveries: readonly RecordedDelivery[];
}

export interface Played {
  readonly journal: Journal;
  readonly log: readonly string[];
  readonly progress: readonly unknown[];
  /** Undefined if it was stopped before it ended. */
  readonly outcome: ProgramOutcome | undefined;
}

interface Play {
  readonly source: string;
  readonly args?: unknown;
  readonly seed?: number;
  readonly limits?: Partial<ProgramLimits>;
  /** What it did before. */
  readonly journal?: Journal;
  /** Which of the calls in flight ends next; the first one unless given. */
  readonly choose?: (inFlight: readonly number[], position: number) => number;
  /** Stops it after so many deliveries. */
  readonly stopAfter?: number;
}

const START = Date.UTC(2026, 0, 1);

/**
 * Runs a program to its end, or to where it is stopped. Tools whose name starts with `fail` fail, and others give back
 * their arguments. A journal is replayed first.
 */
export function play(options: Play): Promise<Played> {
  const { source, args, seed = 1, limits, journal = { calls: [], deliveries: [] } } = options;
  const { choose = (inFlight) => inFlight[0]!, stopAfter = Number.POSITIVE_INFINITY } = options;
  const replay = new Replay(journal);
  const calls = [...journal.calls];
  const deliveries = [...journal.deliveries];
  const log: string[] = [];
  const progress: unknown[] = [];

  return new Promise((resolve, reject) => {
    const inFlight = () => {
      const ended = new Set(deliveries.map(({ index }) => index));
      return calls.map(({ index }) => index).filter((index) => !ended.has(index));
    };
    const finish = (outcome?: ProgramOutcome) =>
      resolve({ journal: { calls, deliveries }, log, progress, outcome });
    const session = new ProgramSession(
      {
        source,
        args: JSON.stringify(args),
        seed,
        startedAt: START,
        limits: { ...DEFAULT_LIMITS, ...limits },
      },
      (step) => {
        try {
          calls.push(...replay.accept(step));
        } catch (error) {
          session.stop();
          reject(error);
          return;
        }
        log.push(...step.log);
        if (step.progress !== undefined) progress.push(step.progress);
        if (step.outcome !== undefined) finish(step.outcome);
        else if (step.delivered < journal.deliveries.length) {
          if (step.delivered === 0) session.deliver(journal.deliveries.map((one) => ending(one, calls)));
        } else if (step.delivered >= stopAfter) {
          session.stop();
          finish();
        } else {
          const index = choose(inFlight(), deliveries.length);
          deliveries.push({ index, at: START + 1000 * (deliveries.length + 1) });
          session.deliver([ending(deliveries.at(-1)!, calls)]);
        }
      },
    );
  });
}

function ending({ index, at }: RecordedDelivery, calls: readonly ProgramCall[]): ProgramDelivery {
  const { function: name, params } = calls[index]!;
  if (!name.startsWith('fail')) return { index, at, value: params };
  const error = { message: `no ${params}`, code: 'ENOENT', reason: 'error', callId: `program[${index}]` };
  return { index, at, error };
}
