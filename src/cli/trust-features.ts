import type { TrustStore } from '../config/trust-store.ts';
import { TaskFolder } from '../tasks/files/task-folder.ts';
import { isTrusted, trustFeature, verificationCommands } from '../tasks/verify/trust.ts';

/** Something in a folder, besides its configuration, that runs only after approval. */
export interface FurtherApproval {
  /** What would be allowed. Untrusted text: sanitize it before printing. */
  readonly commands: readonly {
    readonly feature: string;
    readonly seq: string;
    readonly command: string;
  }[];
  readonly isApproved: boolean;
  approve(): void;
}

/** The approvals of a folder besides its configuration: the verification commands of its features. */
export async function furtherApprovals(cwd: string, store: TrustStore): Promise<FurtherApproval[]> {
  const folder = TaskFolder.nearest(cwd);
  const features = await Promise.all((await folder.names()).map((name) => folder.read(name)));
  return features
    .filter((feature) => verificationCommands(feature).length > 0)
    .map((feature) => ({
      commands: verificationCommands(feature).map(({ seq, command }) => ({
        feature: feature.name,
        seq,
        command,
      })),
      isApproved: isTrusted(folder, feature, store),
      // Approves what was shown, even if the files have changed since.
      approve: () => trustFeature(folder, feature, store),
    }));
}
