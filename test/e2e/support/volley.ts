import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { onTestFinished } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
const DEFINE_TOOL = new URL('../../../src/tools/define-tool.ts', import.meta.url).href;

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder with the given files that is gone after the test. `{define}` in a text becomes the import of defineTool. */
export function project(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'volley-e2e-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(
      join(folder, name),
      text.replace('{define}', `import { defineTool } from '${DEFINE_TOOL}';`),
    );
  }
  return folder;
}

export function startVolley(folder: string, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, ['--import', TSX, PROGRAM, ...args], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** Runs the real program to its end. */
export async function volley(folder: string, args: readonly string[], input?: string): Promise<Ended> {
  const child = startVolley(folder, args);
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]!.setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
    });
  }
  child.stdin!.end(input);
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { status, ...output };
}
