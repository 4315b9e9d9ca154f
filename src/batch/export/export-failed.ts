import { VolleyError } from '../../core/errors.ts';
import { codeOf, fileFailure } from '../../tools/builtin/refusal.ts';

const FOLDER = 'Make its folder first, or choose another file.';
const PERMISSION = 'Choose a folder that may be written, or change its permissions.';
const SPACE = 'Free some space, or choose a file on another disk.';

/** What whoever asked for a file can do about it, by what the system says. */
const REMEDIES: Readonly<Record<string, string>> = {
  ENOENT: FOLDER,
  ENOTDIR: FOLDER,
  EACCES: PERMISSION,
  EPERM: PERMISSION,
  EROFS: PERMISSION,
  ENOSPC: SPACE,
  EDQUOT: SPACE,
  EFBIG: SPACE,
};

/** Why a file that was asked for could not be written, and what to do. */
export function exportFailed(path: string, error: unknown): VolleyError {
  if (error instanceof VolleyError) return error;
  const { message } = fileFailure('write', path, error);
  const remedy = REMEDIES[codeOf(error) ?? ''] ?? 'Choose another file.';
  return new VolleyError('EXPORT_FAILED', `${message} ${remedy}`, { path }, { cause: error });
}
