import { isUtf8 } from 'node:buffer';
import { VolleyError } from '../../core/errors.ts';
import { findInexactNumber, inexactNumberError } from '../../core/json-numbers.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Brackets and braces differ in this bit only. */
const BRACE_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;
const JSON_TYPE = /^application\/([a-z.-]+\+)?json(\s*;.*)?$/i;

/** Throws unless a body is declared as JSON, is UTF-8, is not nested too deeply and has no number that reading would change: before anything reads it as JSON. */
export function checkJson(body: Buffer, contentType: string | undefined, maxDepth: number): void {
  if (contentType === undefined || !JSON_TYPE.test(contentType)) {
    throw new VolleyError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: send "Content-Type: application/json".',
    );
  }
  if (!isUtf8(body)) throw invalidJson('it holds bytes that are no UTF-8');
  checkDepth(body, maxDepth);
  checkNumbers(body.toString());
}

/** What is wrong with a body that could not be parsed. */
export function jsonFault(body: Buffer): VolleyError {
  try {
    JSON.parse(body.toString());
    return invalidJson('it could not be read');
  } catch (error) {
    return invalidJson((error as Error).message);
  }
}

function checkDepth(body: Buffer, maxDepth: number): void {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!;
    if (isInText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isInText = false;
    } else if (byte === QUOTE) isInText = true;
    else if ((byte | BRACE_BIT) === CLOSING) depth--;
    else if ((byte | BRACE_BIT) === OPENING && ++depth > maxDepth) {
      throw new VolleyError(
        'BODY_TOO_DEEP',
        `The JSON is nested deeper than ${maxDepth} levels: make it flatter, or raise server.limits.max_depth.`,
        { most_depth: maxDepth },
      );
    }
  }
}

function checkNumbers(text: string): void {
  const found = findInexactNumber(text);
  if (found === undefined) return;
  try {
    JSON.parse(text);
  } catch {
    // The parser reports what is wrong.
    return;
  }
  throw inexactNumberError(text, found);
}

function invalidJson(problem: string): VolleyError {
  return new VolleyError('INVALID_JSON', `The body is not valid JSON: ${problem}.`);
}
