import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { trustFolder } from '../../support/trust.ts';
import { buildProgram } from './built-program.ts';

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  /** A command that starts what follows it, such as a shell that sets a limit. */
  readonly before?: readonly string[];
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
}

const built = await buildProgram();

/** The import of defineTool, for modules of tools. */
export const DEFINE = `import { defineTool } from '${built.moduleUrl('tools/define-tool.js')}';`;

const CODE_CACHE = 'volley/code-cache';

/** Gives a user with a configuration folder of their own the code that other tests have compiled: a third of a short start. */
export function shareCompiledCode(configFolder: string): void {
  const [shared, own] = [process.env['XDG_CONFIG_HOME']!, configFolder].map((folder) =>
    join(folder, CODE_CACHE),
  ) as [string, string];
  if (!existsSync(shared)) return;
  mkdirSync(own, { recursive: true, mode: 0o700 });
  // What has an ending is a draft that another process writes.
  for (const name of readdirSync(shared).filter((name) => /-[\da-f]{16}$/.test(name))) {
    try {
      linkSync(join(shared, name), join(own, name));
    } catch {
      // It was one of the oldest, and has been removed meanwhile.
    }
  }
}

/** Starts the compiled program. Whether its folder is trusted is the caller's business. */
export function startBuilt(
  folder: string,
  args: readonly string[],
  { before = [], env = {} }: RunOptions = {},
): ChildProcess {
  const [command, ...rest] = [...before, process.execPath, built.main, ...args];
  return spawn(command!, rest, {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** What a program writes until its end. */
export async function endOf(child: ChildProcess, input?: string | Uint8Array): Promise<Ended> {
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]!.setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
    });
  }
  // It may have said what is wrong, and ended, before it read everything.
  child.stdin!.on('error', () => undefined);
  child.stdin!.end(input);
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { status, ...output };
}

/** Runs the compiled program to its end, in a folder that its user trusts unless the user's configuration is given. */
export async function runBuilt(
  folder: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Ended> {
  if (options.env?.['XDG_CONFIG_HOME'] === undefined) await trustFolder(folder);
  return endOf(startBuilt(folder, args, options), options.input);
}
