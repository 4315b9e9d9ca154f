import { VolleyError } from '../../core/errors.ts';
import type { Breach } from '../runner.ts';

/** How many breaches an error names. */
const MAX_NAMED = 20;

/** Why a call fails whose program made or changed what is protected. Another attempt would do the same. */
export function breachFailure(program: string, breaches: readonly Breach[]): VolleyError {
  const named = breaches.slice(0, MAX_NAMED);
  const what = named.map(({ path, pattern, movedTo }) => {
    const where =
      movedTo === undefined ? 'it was changed, and is left as it is' : `it was moved to ${movedTo}`;
    return `${path} (${pattern}; ${where})`;
  });
  if (breaches.length > MAX_NAMED) what.push(`and ${breaches.length - MAX_NAMED} more`);
  const message = `While ${program} ran, protected paths were made or changed: ${what.join(', ')}. To allow that, add them to \`tools.writable\` in volley.toml, unless they are Volley's own.`;
  return Object.assign(new VolleyError('PATH_PROTECTED', message, { program, breaches: named }), {
    retryable: false,
  });
}
