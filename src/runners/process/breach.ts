import { VolleyError } from '../../core/errors.ts';
import type { Breach } from '../runner.ts';

/** How many breaches an error names. */
const MAX_NAMED = 20;

/** The failure of a call whose program created or changed protected paths. Not retryable: it would do the same again. */
export function breachFailure(program: string, breaches: readonly Breach[]): VolleyError {
  const named = breaches.slice(0, MAX_NAMED);
  const what = named.map(({ path, pattern, movedTo }) => {
    const where = movedTo === undefined ? 'changed, not restored' : `moved to ${movedTo}`;
    return `${path} (${pattern}; ${where})`;
  });
  if (breaches.length > MAX_NAMED) what.push(`and ${breaches.length - MAX_NAMED} more`);
  const message = `Protected paths were created or changed while ${program} ran: ${what.join(', ')}. To allow this, add them to \`tools.writable\` in volley.toml. Volley's own files always stay protected.`;
  return Object.assign(new VolleyError('PATH_PROTECTED', message, { program, breaches: named }), {
    retryable: false,
  });
}
