import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const TYPESCRIPT = /\.[cm]?tsx?$/;
const CHECK_TIMEOUT_MS = 10_000;

/** Explains why a module could not be loaded, for its author. */
export async function importFailureText(error: unknown, file: string): Promise<string> {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && TYPESCRIPT.test(file)) {
    return `Node ${process.versions.node} cannot run TypeScript. Use Node 22.18 or newer, start Node with --import tsx, or name the compiled .mjs instead.`;
  }
  if (!(error instanceof Error))
    return `it threw ${JSON.stringify(error) ?? String(error)} when it was loaded.`;
  if (!(error instanceof SyntaxError)) {
    return `it failed when it was loaded: ${error.name}: ${error.message}${firstFrame(error)}`;
  }
  const place = placeAbove(error.stack ?? '') ?? (await checkedPlace(file));
  return `it cannot be loaded: ${error.message}.${
    place === undefined ? ' The error is in a module that it imports.' : `\n${place}`
  }`;
}

/** Where an error of the module itself was thrown. */
function firstFrame(error: Error): string {
  const frame = /\n\s+(at .*file:.*)/.exec(error.stack ?? '')?.[1];
  return frame === undefined ? '' : `\n    ${frame}`;
}

/** Node prints file, line and source above a syntax error's name, if at all. */
function placeAbove(text: string): string | undefined {
  const place = text.slice(0, Math.max(0, text.indexOf('SyntaxError'))).trimEnd();
  return /:\d+\n/.test(place) ? place : undefined;
}

/** Node does not expose the position of a syntax error in a module, but `node --check` prints it. */
async function checkedPlace(file: string): Promise<string | undefined> {
  try {
    await promisify(execFile)(process.execPath, ['--check', file], { timeout: CHECK_TIMEOUT_MS, env: {} });
    return undefined;
  } catch (error) {
    return placeAbove(String((error as { stderr?: unknown }).stderr ?? ''));
  }
}
