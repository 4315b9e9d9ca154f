import type { ProcessIdentity } from '../../store/process-identity.ts';

/** What decisions must know of the world. */
export interface Moment {
  /** In milliseconds since 1970. */
  readonly now: number;
  /** Whether a process is certainly gone. */
  isGone(process: ProcessIdentity): boolean;
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
