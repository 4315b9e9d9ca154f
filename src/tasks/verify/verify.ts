import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { unreachable } from '../../core/unreachable.ts';
import { reasonText, spanText } from '../../core/words.ts';
import type { Check, Subtask } from '../files/feature.ts';
import { isoTime } from '../files/readiness.ts';
import { expandBraces, isNegated } from '../plan/deliverables.ts';
import { projectPathProblem } from '../plan/validate.ts';
import { type CheckLocation, type CommandRunner, outputEnd } from './command-runner.ts';
import { findDeliverable } from './find-deliverable.ts';

/** What one check showed. */
export interface Evidence {
  /** What was looked at: a path, or a command. */
  readonly subject: string;
  readonly ok: boolean;
  /** What was found, to be read behind the subject. */
  readonly text: string;
}

export function evidenceText({ subject, text }: Evidence): string {
  return `${subject} ${text}`;
}

export interface VerifyContext extends CheckContext, Pick<Since, 'isChanged'> {}

/**
 * Looks at what was delivered: every deliverable, then every check in its order. Commands run one after another, for
 * they may use the same files.
 */
export async function verifySubtask(subtask: Subtask, place: VerifyContext): Promise<Evidence[]> {
  const found: Evidence[] = [];
  const since = { startedAt: subtask.startedAt, ...(place.isChanged && { isChanged: place.isChanged }) };
  // Each of `{a,b}` is promised, and nothing of what is taken out with `!`.
  const promised = subtask.deliverables.filter((one) => !isNegated(one)).flatMap(expandBraces);
  for (const deliverable of promised) {
    found.push(await checkDeliverable(place.folder, deliverable, since));
  }
  for (const check of subtask.verification) found.push(await runCheck(check, place));
  return found;
}

function runCheck(check: Check, place: CheckContext): Promise<Evidence> {
  switch (check.type) {
    case 'command':
      return checkCommand(check, place);
    case 'file_exists':
      return checkFileExists(place.folder, check.path);
    case 'file_contains':
      return checkFileContains(place.folder, check.path, check.text);
    default:
      return unreachable(check);
  }
}

const SHOWN_LENGTH = 500;

type CommandCheck = Extract<Check, { type: 'command' }>;

export interface CheckContext extends CheckLocation {
  readonly commands: Pick<CommandRunner, 'run'>;
  readonly signal?: AbortSignal | undefined;
}

/** Runs a command and looks at its exit status and at what it writes. Its feature is trusted. */
export async function checkCommand(check: CommandCheck, place: CheckContext): Promise<Evidence> {
  const subject = `\`${check.command}\``;
  const controller = new AbortController();
  const stop = () => controller.abort(place.signal?.reason);
  const late = new Error(`ran longer than ${spanText(check.timeoutMs)} and was ended`);
  const timer = setTimeout(() => controller.abort(late), check.timeoutMs);
  place.signal?.addEventListener('abort', stop, { once: true });
  if (place.signal?.aborted) stop();
  const output: Buffer[] = [];
  try {
    const { exitCode, signal, stdout, stderr } = await place.commands.run(check.command, place, {
      signal: controller.signal,
      onOutput: (_, chunk) => void output.push(chunk),
    });
    // Of both: many programs tell of failures on the one, and of lesser things on the other.
    const ends = [stdout, stderr].map((text) => outputEnd(text, SHOWN_LENGTH)).filter((end) => end !== '');
    const shown = ends.length === 0 ? '' : `: ${ends.join('\n')}`;
    if (exitCode !== check.expectExit) {
      const how = signal === undefined ? `ended with exit status ${exitCode}` : `was ended by ${signal}`;
      return { subject, ok: false, text: `${how}, not ${check.expectExit}${shown}` };
    }
    return { subject, ...expected(check, output, shown) };
  } catch (error) {
    place.signal?.throwIfAborted();
    return { subject, ok: false, text: reasonText(error) };
  } finally {
    clearTimeout(timer);
    place.signal?.removeEventListener('abort', stop);
  }
}

function expected({ expectExit, expectText }: CommandCheck, output: readonly Buffer[], shown: string) {
  const ended = `ended with exit status ${expectExit}`;
  if (expectText === undefined) return { ok: true, text: ended };
  const ok = Buffer.concat(output).includes(expectText);
  const wrote = `${ok ? 'and wrote' : 'but did not write'} ${JSON.stringify(expectText)}`;
  return { ok, text: `${ended} ${wrote}${ok ? '' : shown}` };
}

/** The system's clock for files runs a little behind; some file systems know whole seconds only. */
const CLOCK_STEP_MS = 20;
const WHOLE_SECOND_MS = 1000;
const CHANGED = 'exists and was changed since the start';

/** What is known of the time since the work began. */
export interface Since {
  readonly startedAt: number | undefined;
  /** Whether a deliverable changed, where somebody has compared the contents; otherwise the times of files tell. */
  isChanged?(deliverable: string): boolean;
}

/** Whether a deliverable is there, and was changed since the work began. */
export async function checkDeliverable(
  project: string,
  deliverable: string,
  { startedAt, isChanged }: Since,
): Promise<Evidence> {
  const subject = deliverable;
  const problem = projectPathProblem(deliverable);
  if (problem !== undefined) return { subject, ok: false, text: `${problem}, so it cannot be a deliverable` };
  const found = await findDeliverable(project, deliverable);
  if (found === undefined) return { subject, ok: false, text: 'does not exist' };
  if (isChanged !== undefined) {
    const ok = isChanged(deliverable);
    return { subject, ok, text: ok ? CHANGED : 'is what it was before: nothing of it was changed' };
  }
  if (startedAt === undefined) {
    return { subject, ok: true, text: 'exists (nobody noted when the work began, so it may be older)' };
  }
  const { changedAt } = found;
  const step = changedAt % WHOLE_SECOND_MS === 0 ? WHOLE_SECOND_MS : CLOCK_STEP_MS;
  if (changedAt + step >= startedAt) return { subject, ok: true, text: CHANGED };
  return {
    subject,
    ok: false,
    text: `was not changed since the start (${isoTime(startedAt)}); its last change was ${isoTime(changedAt)}`,
  };
}

const MAX_BYTES = 64 * 1024 * 1024;

export async function checkFileExists(project: string, path: string): Promise<Evidence> {
  const problem = projectPathProblem(path);
  if (problem !== undefined) return { subject: path, ok: false, text: problem };
  const ok = (await findDeliverable(project, path)) !== undefined;
  return { subject: path, ok, text: ok ? 'exists' : 'does not exist' };
}

export async function checkFileContains(project: string, path: string, text: string): Promise<Evidence> {
  const problem = projectPathProblem(path);
  if (problem !== undefined) return { subject: path, ok: false, text: problem };
  const file = join(project, path);
  const stats = await stat(file).catch(() => undefined);
  if (!stats?.isFile()) return { subject: path, ok: false, text: 'is not a file that exists' };
  if (stats.size > MAX_BYTES) {
    return {
      subject: path,
      ok: false,
      text: `is larger than ${MAX_BYTES / 2 ** 20} MB, and is not searched`,
    };
  }
  const ok = await contains(file, text).catch(() => undefined);
  if (ok === undefined) return { subject: path, ok: false, text: 'cannot be read' };
  return { subject: path, ok, text: `${ok ? 'contains' : 'does not contain'} ${JSON.stringify(text)}` };
}

async function contains(file: string, text: string): Promise<boolean> {
  const wanted = Buffer.from(text);
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(file)) {
    const both = Buffer.concat([rest, chunk as Buffer]);
    if (both.includes(wanted)) return true;
    // What was looked for may stand across two chunks.
    rest = both.subarray(Math.max(0, both.length - wanted.length + 1));
  }
  return wanted.length === 0;
}
