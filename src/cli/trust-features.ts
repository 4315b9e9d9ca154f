import type { TrustStore } from '../config/trust-store.ts';

/** Something of a folder, besides its configuration, that runs only after it was approved. */
export interface FurtherApproval {
  /** What would be allowed, a line each. They may hold anything: whoever shows them makes them plain. */
  readonly lines: readonly string[];
  readonly isApproved: boolean;
  approve(): void;
}

/** What else there is to approve in a folder: the verification commands of its features. */
export async function furtherApprovals(_folder: string, _store: TrustStore): Promise<FurtherApproval[]> {
  return [];
}
