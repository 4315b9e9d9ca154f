import { createHash } from 'node:crypto';
import { toolList } from './common.ts';

/** What every provider takes as the name of a function. */
const ALLOWED = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

/**
 * The names of tools as providers know them, and the way back. Providers take letters, digits, `_` and `-`, at most 64
 * of them: `files.read` becomes `files__read` there.
 */
export interface ToolNames {
  /** The name as the provider knows it. */
  toProvider(name: string): string;
  /** A name that no tool has comes back as it is: the call then fails with what is known of it. */
  fromProvider(name: string): string;
}

/**
 * Chooses the providers' names for a set of tools. A name that is fine stays as it is; no two tools get the same one,
 * whatever the order in which they are given.
 */
export function toolNames(tools: Iterable<{ readonly name: string }>): ToolNames {
  const names = [...new Set(toolList(isIterable(tools) ? [...tools] : tools).map(({ name }) => name))].sort();
  const there = new Map<string, string>();
  const here = new Map<string, string>();
  const enter = (name: string, provided: string) => {
    there.set(name, provided);
    here.set(provided, name);
  };
  for (const name of names) if (ALLOWED.test(name)) enter(name, name);
  for (const name of names) {
    if (!there.has(name))
      enter(
        name,
        freeName(name, (provided) => here.has(provided)),
      );
  }
  return {
    toProvider: (name) => there.get(name) ?? name,
    fromProvider: (name) => here.get(name) ?? name,
  };
}

/** A string is not a list, although it is iterable. */
function isIterable(tools: unknown): tools is Iterable<{ readonly name: string }> {
  return typeof tools !== 'string' && typeof Object(tools)[Symbol.iterator] === 'function';
}

function freeName(name: string, isTaken: (name: string) => boolean): string {
  const plain = name.replaceAll('.', '__');
  if (ALLOWED.test(plain) && !isTaken(plain)) return plain;
  const start = plain.slice(0, MAX_LENGTH - HASH_LENGTH - 1);
  for (let salt = 0; ; salt++) {
    const hash = createHash('sha256').update(`${salt}:${name}`).digest('hex').slice(0, HASH_LENGTH);
    if (!isTaken(`${start}_${hash}`)) return `${start}_${hash}`;
  }
}
