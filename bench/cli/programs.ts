import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isInstalled, type ParallelProgram, PROGRAMS } from '../processes/programs.ts';

export const SANDBOXED = 'volley run';
export const OFF = 'volley run, sandbox off';
export const NODE = 'node -e 0';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const WIREIT = fileURLToPath(new URL('../../node_modules/wireit/bin/wireit.js', import.meta.url));

type Files = Record<string, string>;

/** What it takes to run a contestant in a new folder. */
export interface CliProgram extends Omit<ParallelProgram, 'program'> {
  readonly env?: Readonly<Record<string, string>>;
}

const VOLLEY: Pick<CliProgram, 'command' | 'files'> = {
  command: ({ concurrency }) => `node ${MAIN} run tasks.json --max-concurrent ${concurrency}`,
  files: ({ count }) => {
    const tasks = Array.from({ length: count }, (_, index) => ({
      id: `t${index}`,
      function: 'shell',
      params: { command: 'true' },
    }));
    return { 'tasks.json': JSON.stringify({ tasks }) };
  },
};

const ENABLED = { VOLLEY_TOOLS_SHELL_ENABLED: 'true' };

const OWN: readonly CliProgram[] = [
  { ...VOLLEY, name: SANDBOXED, env: ENABLED },
  { ...VOLLEY, name: OFF, env: { ...ENABLED, VOLLEY_PROCESSES_SANDBOX: 'off' } },
  { name: NODE, command: () => 'node -e 0' },
];

const wireit: CliProgram = {
  name: 'wireit',
  command: () => 'npm run --silent all',
  files: ({ count }): Files => {
    const names = Array.from({ length: count }, (_, index) => `t${index}`);
    const scripts = Object.fromEntries(['all', ...names].map((name) => [name, WIREIT]));
    const each = Object.fromEntries(names.map((name) => [name, { command: 'true' }]));
    return { 'package.json': JSON.stringify({ scripts, wireit: { all: { dependencies: names }, ...each } }) };
  },
  env: { WIREIT_PARALLEL: '8', WIREIT_LOGGER: 'quiet', WIREIT_CACHE: 'none' },
};

/** Those that this machine has, by name. */
export const CLI_PROGRAMS: ReadonlyMap<string, CliProgram> = new Map(
  [
    ...OWN,
    ...PROGRAMS.filter(({ program }) => isInstalled(program)),
    ...(existsSync(WIREIT) ? [wireit] : []),
  ].map((program) => [program.name, program]),
);

export function absentPeers(names: readonly string[]): string[] {
  return names.filter((name) => !CLI_PROGRAMS.has(name));
}
