import { constants } from 'node:os';

const NAMES = new Map<number, string>();
// Of two names for one number the first is the common one: SIGABRT, not SIGIOT.
for (const [name, number] of Object.entries(constants.signals)) {
  if (!NAMES.has(number)) NAMES.set(number, name);
}

export function signalName(number: number): string | undefined {
  return NAMES.get(number);
}
