import { readdirSync, readFileSync } from 'node:fs';

const CLOSED_ON_EXEC = 0o2000000;

let inherited: readonly number[] | undefined;

/**
 * Descriptors of this process that a program it spawns would get: those that it was given itself and that Node does not
 * know of. What Node opens is closed when a program starts. Looked at once.
 */
export function inheritedDescriptors(): readonly number[] {
  inherited ??= find();
  return inherited;
}

function find(): number[] {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter((descriptor) => descriptor > 2 && isInheritable(descriptor));
  } catch {
    // Only Linux tells; and only there is a sandbox.
    return [];
  }
}

function isInheritable(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    // It was the one with which the list was read.
    return false;
  }
}
