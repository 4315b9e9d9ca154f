import { checkNumber } from '../../core/numbers.ts';

/** The limits of live events; all have a default. */
export interface HubOptions {
  /** How many streams may be open at once. Default 2000. */
  readonly maxSubscribers?: number;
  /** How many events are remembered for clients that come back. Default 16384. */
  readonly logSize?: number;
  /**
   * How many bytes may wait for one client, if they are more than a socket buffers by itself; a slower one is skipped
   * ahead. Default 1 MiB.
   */
  readonly maxBufferedBytes?: number;
  /** How often a sign of life is sent. Default 15000. */
  readonly heartbeatMs?: number;
  /** How long a client may read nothing at all, while there is something, before its stream is ended. Default 60000. */
  readonly stalledMs?: number;
  /** How long a client shall wait before it connects again. Default 1000. */
  readonly retryMs?: number;
}

export type CheckedHubOptions = Required<HubOptions>;

export function checkHubOptions(options: HubOptions): CheckedHubOptions {
  const whole = (name: keyof HubOptions, fallback: number, min: number, max: number) =>
    checkNumber(name, options[name] ?? fallback, { min, max, integer: true });
  return {
    maxSubscribers: whole('maxSubscribers', 2000, 1, 100_000),
    logSize: whole('logSize', 16_384, 16, 2 ** 20),
    maxBufferedBytes: whole('maxBufferedBytes', 2 ** 20, 1024, 2 ** 28),
    heartbeatMs: whole('heartbeatMs', 15_000, 10, 600_000),
    stalledMs: whole('stalledMs', 60_000, 10, 3_600_000),
    retryMs: whole('retryMs', 1000, 10, 600_000),
  };
}
