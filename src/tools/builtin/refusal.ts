import { type ErrorCode, VolleyError } from '../../core/errors.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';

/** An error that is not retried, because a retry would fail the same way. */
export function refusal(
  code: ErrorCode,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): VolleyError {
  const error = new VolleyError(code, message, details, cause === undefined ? undefined : { cause });
  return Object.assign(error, { retryable: false });
}

/** Descriptions of file system errors for which a retry does not help. */
const FILE_PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'access is denied',
  EPERM: 'the system does not permit it',
  EROFS: 'the file system is read-only',
  EEXIST: 'something else has that name',
  ELOOP: 'it leads through too many symbolic links',
  ENAMETOOLONG: 'a name in it is too long',
  EFBIG: 'the file would be too large for the file system',
};

/** The same for errors that may go away. */
const PASSING_PROBLEMS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the disk reports an error',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  EBUSY: 'something else is using it',
};

/** An error in terms of the caller's path, whatever the system calls it. */
export function fileFailure(action: string, path: string, error: unknown): Error {
  if (error instanceof VolleyError || error instanceof ToolFailure) return error;
  const code = codeOf(error);
  const problem = FILE_PROBLEMS[code ?? ''];
  if (problem !== undefined) return permanentFailure(`Cannot ${action} ${quoted(path)}: ${problem}.`, error);
  if (code === undefined) return error instanceof Error ? error : new Error(String(error));
  const passing = PASSING_PROBLEMS[code] ?? `the system reports ${code}`;
  return new ToolFailure(`Cannot ${action} ${quoted(path)}: ${passing}.`, { cause: error });
}

export function permanentFailure(message: string, cause?: unknown): ToolFailure {
  return new ToolFailure(message, { retryable: false, cause });
}

/** The system error code, such as ENOENT. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** A caller's string for a message: on one line and not too long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
