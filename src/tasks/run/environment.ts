import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../cli/main.js', import.meta.url));

/** The environment of the agents of a run. */
export interface AgentEnvironment {
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/**
 * What agents start with: the user's environment, and this very program as `volley`, wherever they work and whatever is
 * installed there.
 */
export async function openEnvironment(
  given: Readonly<Record<string, string | undefined>>,
): Promise<AgentEnvironment> {
  const entries = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const env = Object.fromEntries(entries);
  if (!existsSync(PROGRAM)) return { env, close: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), 'volley-run-'));
  const text = `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(PROGRAM)} "$@"\n`;
  await writeFile(join(folder, 'volley'), text, { mode: 0o755 });
  return {
    env: { ...env, PATH: [folder, env['PATH']].filter(Boolean).join(delimiter) },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
