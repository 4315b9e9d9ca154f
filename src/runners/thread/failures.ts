import { VolleyError } from '../../core/errors.ts';
import { unwritableText } from '../../core/words.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import type { ThreadCall } from './thread-call.ts';

/** How a thread ended. */
export interface ThreadEnd {
  readonly exitCode: number;
  /** What nobody caught in it, if that ended it. */
  readonly error: { readonly value: unknown } | undefined;
  /** Whether it ever was able to run calls. */
  readonly wasReady: boolean;
}

/** Why a call that ran when its thread ended has failed. */
export function crashOf({ tool }: ThreadCall, { exitCode, error }: ThreadEnd): ToolFailure {
  const who = `The thread of the tool "${tool.name}"`;
  if (error === undefined) {
    return new ToolFailure(`${who} was ended by process.exit(${exitCode}).`, { reason: 'crashed' });
  }
  const cause = error.value;
  if ((cause as { code?: unknown } | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new ToolFailure(`${who} ran out of memory.`, { reason: 'memory', retryable: false, cause });
  }
  return new ToolFailure(
    `${who} was ended by an error that nobody caught, in a callback or a promise that the tool did not wait for: ${textOf(cause)}`,
    { reason: 'crashed', cause },
  );
}

export function startFailure({ exitCode, error }: ThreadEnd): ToolFailure {
  const why = error === undefined ? `it ended with exit code ${exitCode}` : textOf(error.value);
  return new ToolFailure(`A thread for tools could not be started: ${why}`, {
    reason: 'crashed',
    cause: error?.value,
  });
}

export function undeliverableInput({ tool }: ThreadCall, cause: unknown): VolleyError {
  return new VolleyError(
    'UNSERIALISABLE_INPUT',
    `The input of the tool "${tool.name}" cannot be sent to a thread: ${unwritableText(cause)}. Pass plain data, or run the tool inline.`,
    { toolName: tool.name },
    { cause },
  );
}

export function unreadableResult({ tool }: ThreadCall, cause: unknown): VolleyError {
  return new VolleyError(
    'UNSERIALISABLE_RESULT',
    `The result of the tool "${tool.name}" cannot be read in this thread: ${unwritableText(cause)}. Return plain data.`,
    { toolName: tool.name },
    { cause },
  );
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
}
