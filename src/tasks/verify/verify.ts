import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { unreachable } from '../../core/errors.ts';
import { reasonText, spanText } from '../../core/words.ts';
import { isNegated } from '../../tools/pattern/path-patterns.ts';
import type { Check, CommandCheck, Subtask } from '../files/feature.ts';
import { isoTime } from '../files/readiness.ts';
import { expandBraces, projectPathProblem } from '../plan/deliverables.ts';
import { type CheckLocation, type CommandRunner, outputEnds } from './command-runner.ts';
import { findDeliverable } from './find-deliverable.ts';

/** The result of one check. */
export interface Evidence {
  /** The path or command that was checked. */
  readonly subject: string;
  readonly ok: boolean;
  /** What was found, to be read after the subject. */
  readonly text: string;
}

interface VerifyContext extends CheckLocation {
  readonly commands: Pick<CommandRunner, 'run'>;
  readonly signal?: AbortSignal | undefined;
  /** Whether a deliverable changed, if contents were compared. Otherwise file times decide. */
  isChanged?(deliverable: string): boolean;
}

const MAX_OUTPUT_LENGTH = 500;
const MAX_SEARCHED_BYTES = 64 * 1024 * 1024;
/** File times lag slightly behind the clock; some file systems store whole seconds only. */
const CLOCK_STEP_MS = 20;
const WHOLE_SECOND_MS = 1000;
const CHANGED = 'exists and was changed since the start';

export function evidenceText({ subject, text }: Evidence): string {
  return `${subject} ${text}`;
}

/** The checks that failed, in words. */
export function failedChecks(evidence: readonly Evidence[]): string[] {
  return evidence.filter(({ ok }) => !ok).map(evidenceText);
}

/** Checks every deliverable, then runs every check, one at a time since commands may use the same files. */
export async function verifySubtask(subtask: Subtask, context: VerifyContext): Promise<Evidence[]> {
  const evidence: Evidence[] = [];
  // Every alternative of `{a,b}` is required.
  const required = subtask.deliverables.filter((one) => !isNegated(one)).flatMap(expandBraces);
  for (const deliverable of required) {
    const found = await checkDeliverable(deliverable, subtask, context);
    evidence.push({ subject: deliverable, ...found });
  }
  for (const check of subtask.verification) evidence.push(await runCheck(check, context));
  return evidence;
}

type Finding = Omit<Evidence, 'subject'>;

async function checkDeliverable(
  deliverable: string,
  { startedAt }: Subtask,
  { folder, isChanged }: VerifyContext,
): Promise<Finding> {
  const problem = projectPathProblem(deliverable);
  if (problem !== undefined) return { ok: false, text: `${problem}, so it cannot be a deliverable` };
  const found = await findDeliverable(folder, deliverable);
  if (found === undefined) return { ok: false, text: 'does not exist' };
  if (isChanged !== undefined) {
    const ok = isChanged(deliverable);
    return { ok, text: ok ? CHANGED : 'exists but was not changed' };
  }
  if (startedAt === undefined)
    return { ok: true, text: 'exists (it may be old: no start time was recorded)' };
  const { changedAt } = found;
  const step = changedAt % WHOLE_SECOND_MS === 0 ? WHOLE_SECOND_MS : CLOCK_STEP_MS;
  if (changedAt + step >= startedAt) return { ok: true, text: CHANGED };
  const text = `was not changed since the start (${isoTime(startedAt)}); its last change was ${isoTime(changedAt)}`;
  return { ok: false, text };
}

async function runCheck(check: Check, context: VerifyContext): Promise<Evidence> {
  if (check.type === 'command')
    return { subject: `\`${check.command}\``, ...(await checkCommand(check, context)) };
  const { path } = check;
  const problem = projectPathProblem(path);
  if (problem !== undefined) return { subject: path, ok: false, text: problem };
  switch (check.type) {
    case 'file_exists': {
      const ok = (await findDeliverable(context.folder, path)) !== undefined;
      return { subject: path, ok, text: ok ? 'exists' : 'does not exist' };
    }
    case 'file_contains':
      return { subject: path, ...(await checkContent(join(context.folder, path), check.text)) };
    default:
      return unreachable(check);
  }
}

/** Runs a command and checks its exit status and output. The feature must be trusted. */
async function checkCommand(check: CommandCheck, context: VerifyContext): Promise<Finding> {
  const { command, expectExit, expectText, timeoutMs } = check;
  const timeout = new AbortController();
  const late = new Error(`ran longer than ${spanText(timeoutMs)} and was terminated`);
  const timer = setTimeout(() => timeout.abort(late), timeoutMs);
  const signals = [timeout.signal, ...(context.signal === undefined ? [] : [context.signal])];
  const output: Buffer[] = [];
  try {
    const result = await context.commands.run(command, context, {
      signal: AbortSignal.any(signals),
      onOutput: (_, chunk) => void output.push(chunk),
    });
    const ends = outputEnds(result, MAX_OUTPUT_LENGTH);
    const shown = ends === '' ? '' : `: ${ends}`;
    const { exitCode, signal } = result;
    if (exitCode !== expectExit) {
      const how = signal === undefined ? `exited with status ${exitCode}` : `was terminated by ${signal}`;
      return { ok: false, text: `${how}, not ${expectExit}${shown}` };
    }
    const exited = `exited with status ${expectExit}`;
    if (expectText === undefined) return { ok: true, text: exited };
    const ok = Buffer.concat(output).includes(expectText);
    const wrote = `${ok ? 'and printed' : 'but did not print'} ${JSON.stringify(expectText)}`;
    return { ok, text: `${exited} ${wrote}${ok ? '' : shown}` };
  } catch (error) {
    context.signal?.throwIfAborted();
    return { ok: false, text: reasonText(error) };
  } finally {
    clearTimeout(timer);
  }
}

async function checkContent(file: string, text: string): Promise<Finding> {
  const stats = await stat(file).catch(() => undefined);
  if (!stats?.isFile()) return { ok: false, text: 'does not exist or is not a file' };
  if (stats.size > MAX_SEARCHED_BYTES)
    return { ok: false, text: `is larger than ${MAX_SEARCHED_BYTES / 2 ** 20} MB and was not searched` };
  const ok = await contains(file, text).catch(() => undefined);
  if (ok === undefined) return { ok: false, text: 'cannot be read' };
  return { ok, text: `${ok ? 'contains' : 'does not contain'} ${JSON.stringify(text)}` };
}

async function contains(file: string, text: string): Promise<boolean> {
  const wanted = Buffer.from(text);
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(file)) {
    const both = Buffer.concat([rest, chunk as Buffer]);
    if (both.includes(wanted)) return true;
    // The text may cross two chunks.
    rest = both.subarray(Math.max(0, both.length - wanted.length + 1));
  }
  return wanted.length === 0;
}
