import type { MeasuredStatistics } from '../wire/statistics.ts';

/** What the server tells of itself. */
export interface ServerMetrics {
  /** All of it in the form of Prometheus. */
  text(): Promise<{ readonly contentType: string; readonly body: string }>;
  /** A request has ended; `route` is a pattern, never what the client wrote. */
  request(route: string, method: string, status: number, ms: number): void;
  /** The engine's own numbers, with the last ten minutes of use. */
  statistics(): MeasuredStatistics;
}
