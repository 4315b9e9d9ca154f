import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EnvironmentVariables } from '../../config/environment.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import { childEnvironment } from '../../git/child-environment.ts';

const PROGRAM = fileURLToPath(new URL('../../cli/main.js', import.meta.url));

/**
 * The environment of agents: the user's, with this very program as `volley`, whatever else is installed.
 */
export async function agentEnvironment(
  given: EnvironmentVariables,
  scratch: string,
): Promise<Readonly<Record<string, string>>> {
  const env = childEnvironment(given);
  if (!existsSync(PROGRAM)) return env;
  const folder = join(scratch, 'bin');
  await mkdir(folder);
  const text = `#!/bin/sh\nexec ${shellQuote(process.execPath)} ${shellQuote(PROGRAM)} "$@"\n`;
  await writeFile(join(folder, 'volley'), text, { mode: 0o755 });
  return { ...env, PATH: [folder, env['PATH']].filter(Boolean).join(delimiter) };
}
