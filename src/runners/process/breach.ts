import { VolleyError } from '../../core/errors.ts';
import type { Breach } from '../runner.ts';

/** The failure of a call whose program created or changed protected paths. Not retryable: it would do the same again. */
export function breachFailure(program: string, breaches: readonly Breach[]): VolleyError {
  const what = breaches.map(({ path, pattern, movedTo }) => {
    const where = movedTo === undefined ? 'changed, not restored' : `moved to ${movedTo}`;
    return `${path} (${pattern}; ${where})`;
  });
  const message = `Protected paths were created or changed while ${program} ran: ${what.join(', ')}. To allow this, add them to \`tools.writable\` in volley.toml. Volley's own files always stay protected.`;
  return Object.assign(new VolleyError('PATH_PROTECTED', message, { program, breaches }), {
    retryable: false,
  });
}
