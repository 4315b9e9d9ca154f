import { SCOPES, type Scope } from '../../batch/actions/define-action.ts';
import { VolleyError } from '../../core/errors.ts';

/** Who sends a request. */
export interface Principal {
  /** For audit lines and limits: the name of a token, or a number of a session. Never a secret. */
  readonly name: string;
  readonly kind: 'token' | 'session';
  /** By which limits and streams are counted. */
  readonly client: string;
  readonly scope: Scope;
  /** When a session ends. */
  readonly expiresAt: number | undefined;
}

export function scopesOf({ scope }: Principal): Scope[] {
  return SCOPES.slice(0, SCOPES.indexOf(scope) + 1);
}

/** Throws unless the request comes from somebody who may do what needs this scope. */
export function requireScope(principal: Principal | undefined, scope: Scope): Principal {
  if (principal === undefined) throw unauthenticated('This needs a token');
  if (SCOPES.indexOf(principal.scope) >= SCOPES.indexOf(scope)) return principal;
  throw new VolleyError(
    'NOT_PERMITTED',
    `This needs the scope "${scope}", but ${principal.name} has "${principal.scope}": use another token.`,
    { needed: scope, scope: principal.scope },
  );
}

export function unauthenticated(problem: string): VolleyError {
  return new VolleyError(
    'UNAUTHENTICATED',
    `${problem}: send "Authorization: Bearer …" with a token from the configuration or from the file next to the store, or open the address that "volley dashboard" prints.`,
  );
}
