import { type Distribution, GuessedDistribution } from './prediction/distribution.ts';
import { SeenDistribution } from './prediction/seen-distribution.ts';
import { Sketch } from './sketch.ts';

/** What an execution is taken to last while nothing at all is known. */
const UNKNOWN_MS = 1000;
const RELEVANT_SAMPLES = 512;
/** Ratios are kept in whole thousandths. */
const RATIO_SCALE = 1000;
/** How far a caller's own estimate is taken to be off before the first was checked against the truth. */
const OWN_ESTIMATE_SIGMA = 0.5;

/**
 * What one tool took, as its executions finish. Old samples fade, so a tool that changes is learned anew; one
 * outlier moves nothing, because the estimate is a mean of the middle, not of all. Where callers gave estimates of
 * their own, it also learns how far those can be trusted.
 */
export class DurationModel {
  private sketch: Sketch | undefined;
  /** What executions took in relation to the estimate of the caller. */
  private ratios: Sketch | undefined;
  private estimate = 0;
  private staleAfter = 0;

  /** Takes note of a finished execution; `estimatedMs` is what the caller had expected, 0 for nothing. */
  learn(durationMs: number, estimatedMs = 0): void {
    this.sketch ??= new Sketch(3);
    add(this.sketch, durationMs);
    this.staleAfter--;
    if (estimatedMs === 0) return;
    this.ratios ??= new Sketch(3);
    add(this.ratios, (durationMs / estimatedMs) * RATIO_SCALE);
  }

  /** The expected duration in whole milliseconds, at least 1 so that a longer chain is always a longer path. */
  estimateMs(): number {
    if (this.sketch === undefined) return UNKNOWN_MS;
    if (this.staleAfter <= 0) {
      this.estimate = Math.max(1, Math.round(middleMean(this.sketch)));
      this.staleAfter = Math.min(32, 1 + (this.sketch.count >> 2));
    }
    return this.estimate;
  }

  /** The durations that were seen, or undefined if there were none. It is made anew at each call. */
  distribution(): Distribution | undefined {
    return this.sketch && new SeenDistribution(this.sketch);
  }

  /** By what factor executions take longer than the caller had expected. */
  ratioToEstimate(): Distribution {
    if (this.ratios === undefined) return new GuessedDistribution(1, OWN_ESTIMATE_SIGMA);
    return new SeenDistribution(this.ratios, 1 / RATIO_SCALE);
  }
}

function add(sketch: Sketch, value: number): void {
  if (sketch.count >= RELEVANT_SAMPLES) sketch.decay();
  sketch.add(value);
}

/** The mean of nine quantiles from 10 % to 90 %: what lies beyond has no weight. */
function middleMean(sketch: Sketch): number {
  let sum = 0;
  for (let tenth = 1; tenth <= 9; tenth++) sum += sketch.quantile(tenth / 10);
  return sum / 9;
}
