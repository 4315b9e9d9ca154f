import type { VolleyConfig } from './config.ts';
import { toConfig } from './resolve.ts';
import { DEFAULTS } from './schema.ts';

/** What holds without a file: the folder is the only root. */
export function defaultConfig(folder = process.cwd()): VolleyConfig {
  return toConfig(DEFAULTS, folder);
}
