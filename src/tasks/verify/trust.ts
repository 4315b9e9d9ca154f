import { createHash } from 'node:crypto';
import type { EnvironmentVariables } from '../../config/environment.ts';
import { TrustStore } from '../../config/trust-store.ts';
import { VolleyError } from '../../core/errors.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import type { CommandCheck, Feature } from '../files/feature.ts';
import type { TaskFolder } from '../files/task-folder.ts';

interface VerificationCommand extends CommandCheck {
  readonly seq: string;
}

export function verificationCommands({ subtasks }: Feature): VerificationCommand[] {
  return subtasks.flatMap(({ seq, verification }) =>
    verification.flatMap((check) => (check.type === 'command' ? [{ seq, ...check }] : [])),
  );
}

/** Records the user's approval of a feature's current verification commands. */
export function trustFeature({ project }: TaskFolder, feature: Feature, store: TrustStore): void {
  const hash = commandsHash(feature);
  if (hash !== undefined) store.approveFeature(project, feature.name, hash);
}

/** Throws unless the user has approved the feature's verification commands. */
export function requireTrusted(folder: TaskFolder, feature: Feature, env: EnvironmentVariables): void {
  if (isTrusted(folder, feature, new TrustStore(env))) return;
  const { name } = feature;
  const commands = verificationCommands(feature).map(({ seq, command }) => ({ seq, command }));
  throw new VolleyError(
    'NOT_TRUSTED',
    `The verification commands of ${name} are new or have changed since you approved them, so nothing was run. Review and approve them: cd ${shellQuote(folder.project)} && volley trust`,
    { feature: name, commands },
  );
}

/** Whether the feature's current verification commands, if any, are approved. */
export function isTrusted({ project }: TaskFolder, feature: Feature, store: TrustStore): boolean {
  const hash = commandsHash(feature);
  return hash === undefined || store.featureHash(project, feature.name) === hash;
}

/** Covers the commands and their expected results, but nothing that changes during a run. */
function commandsHash(feature: Feature): string | undefined {
  const commands = verificationCommands(feature);
  if (commands.length === 0) return undefined;
  const parts = commands.map(({ seq, command, expectExit, expectText, timeoutMs }) => [
    ...[seq, command, expectExit, expectText ?? null, timeoutMs],
  ]);
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
