import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A script that another thread or process starts with, and the Node flags it needs. */
export interface ScriptEntry {
  readonly url: URL;
  /** Empty for the built package. */
  readonly execArgv: readonly string[];
}

/**
 * Finds one of our scripts next to the calling module: `scriptEntry('./worker', import.meta.url)`. In the built package
 * it is a `.js` file. In development it is a `.ts` file, which needs tsx: Node cannot run our sources itself.
 */
export function scriptEntry(name: string, neighbour: string): ScriptEntry {
  const extension = extname(new URL(neighbour).pathname);
  const url = new URL(`${name}${extension}`, neighbour);
  return { url, execArgv: extension === '.ts' ? ['--import', registerTsx(neighbour)] : [] };
}

/** A module that registers tsx. The plain `--import tsx` does nothing in a worker thread of Node 20. */
function registerTsx(neighbour: string): string {
  const loader = pathToFileURL(createRequire(neighbour).resolve('tsx'));
  const api = new URL('./esm/api/index.mjs', loader);
  return `data:text/javascript,import { register } from ${JSON.stringify(api.href)}; register();`;
}
