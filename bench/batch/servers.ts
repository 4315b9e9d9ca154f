import { spawnSync } from 'node:child_process';
import { postgresProgram } from '../../scripts/start-postgres.ts';

/** Whether a peer's server is installed here. */
export function hasPrograms(...names: readonly string[]): boolean {
  return names.every((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0);
}

export function hasPostgres(): boolean {
  return hasPrograms(postgresProgram('initdb'), postgresProgram('postgres'));
}
