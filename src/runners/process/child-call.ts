import type { PortableCode } from '../load-code.ts';

/** What the runner sends into the process. */
export interface ChildCall {
  readonly toolName: string;
  readonly code: PortableCode;
  readonly input: unknown;
  readonly id: string;
  readonly attempt: number;
  readonly resultBytes: number;
}
