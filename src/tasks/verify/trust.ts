import { createHash } from 'node:crypto';
import { TrustStore } from '../../config/trust-store.ts';
import { VolleyError } from '../../core/errors.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import type { Check, Feature } from '../files/feature.ts';
import type { TaskFolder } from '../files/task-folder.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type CommandCheck = Extract<Check, { type: 'command' }>;

/** A command that verifies a subtask. */
interface VerificationCommand extends CommandCheck {
  readonly seq: string;
}

export function verificationCommands({ subtasks }: Feature): VerificationCommand[] {
  return subtasks.flatMap(({ seq, verification }) =>
    verification.flatMap((check) => (check.type === 'command' ? [{ seq, ...check }] : [])),
  );
}

/** Remembers that the user has approved the verification commands of a feature as they are. */
export function trustFeature({ project }: TaskFolder, feature: Feature, store: TrustStore): void {
  const hash = commandsHash(feature);
  if (hash !== undefined) store.approveFeature(project, feature.name, hash);
}

/** Throws unless the user has approved the commands of a feature. */
export function requireTrusted(folder: TaskFolder, feature: Feature, env: Environment): void {
  if (isTrusted(folder, feature, new TrustStore(env))) return;
  const { name } = feature;
  const commands = verificationCommands(feature).map(({ seq, command }) => ({ seq, command }));
  throw new VolleyError(
    'NOT_TRUSTED',
    `The verification commands of ${name} are new or have changed since you approved them, so nothing was run. Review and approve them: cd ${shellQuote(folder.project)} && volley trust`,
    { feature: name, commands },
  );
}

/** Whether the user has approved the verification commands of a feature as they are, if it has any. */
export function isTrusted({ project }: TaskFolder, feature: Feature, store: TrustStore): boolean {
  const hash = commandsHash(feature);
  return hash === undefined || store.featureHash(project, feature.name) === hash;
}

/** Covers the commands and their expected results, and nothing that changes while a feature runs. */
function commandsHash(feature: Feature): string | undefined {
  const commands = verificationCommands(feature);
  if (commands.length === 0) return undefined;
  const parts = commands.map(({ seq, command, expectExit, expectText, timeoutMs }) => [
    ...[seq, command, expectExit, expectText ?? null, timeoutMs],
  ]);
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
