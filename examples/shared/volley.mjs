import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const LIBRARY = import.meta.resolve('volley');
/** Beside the library: built, or as TypeScript in the tests. */
const PROGRAM = fileURLToPath(new URL(`./cli/main${extname(LIBRARY)}`, LIBRARY));

/** Shows a command and runs it in a folder, as you would with `npx volley` there. Gives its exit status. */
export async function volley(folder, args, { input } = {}) {
  console.log(`$ npx volley ${args.map(quoted).join(' ')}`);
  return finished(start(folder, args, ['pipe', 'inherit', 'inherit'], input, trustedIn(folder)));
}

/** Forgets what an earlier run of the example left, without a word: a batch that has completed does not run again. */
export async function forget(folder, batch) {
  const status = await finished(start(folder, ['clear', '--batch', batch], ['pipe', 'ignore', 'inherit']));
  // It has said why.
  if (status !== 0) process.exit(status);
}

/** Whether an earlier run of the batch was interrupted: the same command goes on with what it has left. */
export async function isUnfinished(folder, batch) {
  const child = start(folder, ['status', '--batch', batch, '--json'], ['pipe', 'pipe', 'ignore']);
  const [answer] = await Promise.all([text(child.stdout), finished(child)]);
  const { open = 0, running = 0 } = JSON.parse(answer).data?.counts ?? {};
  return open + running > 0;
}

/** How Volley is started with these arguments, for programs that start it themselves. */
export function commandOf(args) {
  if (!existsSync(PROGRAM)) throw new Error('Run `npm run build` first.');
  return { command: process.execPath, args: [...process.execArgv, PROGRAM, ...args] };
}

/** You trust the examples, since you run them: an environment with the hash of what the `volley.toml` of one could run. */
export function trustedIn(folder) {
  const { command, args } = commandOf(['trust', '--print']);
  const { status, stdout } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' });
  // Most have no volley.toml, and need no trust.
  return status === 0 ? { ...process.env, VOLLEY_TRUST: stdout.trim() } : process.env;
}

function start(folder, args, stdio, input, env = process.env) {
  const { command, args: all } = commandOf(args);
  const child = spawn(command, all, { cwd: folder, stdio, env });
  child.stdin.end(input);
  return child;
}

/** Ctrl-C reaches the program too, which stops gracefully: wait for it. */
async function finished(child) {
  const wait = () => {};
  process.on('SIGINT', wait);
  const [status] = await once(child, 'close');
  process.off('SIGINT', wait);
  return status ?? 1;
}

function quoted(word) {
  return /^[\w./@:=-]+$/.test(word) ? word : `'${word}'`;
}
