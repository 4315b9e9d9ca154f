import type { TrustStore } from '../config/trust-store.ts';
import { TaskFolder } from '../tasks/files/task-folder.ts';
import { isTrusted, trustFeature, verificationCommands } from '../tasks/trust.ts';

/** Something of a folder, besides its configuration, that runs only after it was approved. */
export interface FurtherApproval {
  /** What would be allowed. It may hold anything: whoever shows it makes it plain. */
  readonly commands: readonly {
    readonly feature: string;
    readonly seq: string;
    readonly command: string;
  }[];
  readonly isApproved: boolean;
  approve(): void;
}

/** What else there is to approve in a folder: the verification commands of its features. */
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
      // What was shown, whatever the files say by then.
      approve: () => trustFeature(folder, feature, store),
    }));
}
