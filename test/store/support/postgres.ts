import { randomBytes } from 'node:crypto';

/** A schema of a database where nothing is yet. */
export function newSchema(address: string): string {
  return `${address}&schema=t_${randomBytes(8).toString('hex')}`;
}
