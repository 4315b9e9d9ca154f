import { VolleyError } from '../../../src/index.ts';

/** The error that a call throws. */
export function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

/** What a promise is rejected with. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('the promise was not rejected');
}

/** The code of an error of Volley. */
export function codeOf(error: unknown): string {
  if (error instanceof VolleyError) return error.code;
  throw new Error(`not a VolleyError: ${String(error)}`);
}
