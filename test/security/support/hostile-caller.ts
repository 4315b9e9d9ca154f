import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { loadStorePlace } from '../../../src/config/load.ts';
import { PROTECTED_RULES } from '../../../src/config/protected-paths.ts';
import { loadStore } from '../../../src/store/open/load-store.ts';
import { DEFINE, runBuilt, shareCompiledCode } from '../../e2e/support/built-volley.ts';
import { trustFolder } from '../../support/trust.ts';

/** What an agent asks Volley to call. */
export interface Attack {
  readonly function: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** What became of it. */
export interface AttackResult {
  readonly status: string;
  readonly code: string | null;
  readonly message: string | null;
  readonly result?: unknown;
}

/** A tool in a process of its own that does what it is told, and says how that ended. */
const PUPPET = `
${DEFINE}
export const puppet = defineTool({
  name: 'puppet',
  isolation: 'process',
  run: async ({ path, read }) => {
    const { mkdirSync, readFileSync, writeFileSync } = await import('node:fs');
    const { dirname } = await import('node:path');
    try {
      if (read) return readFileSync(read, 'utf8');
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, 'hostile');
      return 'written';
    } catch (error) {
      return error.code;
    }
  },
});
`;

/** For each row of the table a file that it protects. */
export const PROTECTED_FILES: readonly string[] = PROTECTED_RULES.map(({ pattern }) =>
  pattern.replace(/\*\*$/, 'attack.txt').replaceAll('*', 'x'),
);

/** An agent that may call tools in a folder of a user, and means no good. */
export class HostileCaller {
  readonly folder = newFolder('volley-attacked-');
  readonly home = newFolder('volley-home-');
  private count = 0;
  private approved: string | undefined;

  /** `settings` are further lines of its volley.toml, which begins in the table `tools`. */
  constructor(
    settings = '',
    readonly env: Readonly<Record<string, string>> = {},
  ) {
    shareCompiledCode(this.environment['XDG_CONFIG_HOME']!);
    this.write('tools/puppet.mjs', PUPPET);
    this.write('volley.toml', `[tools]\nmodules = ["./tools/*.mjs"]\nshell.enabled = true\n${settings}\n`);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  read(path: string): string | undefined {
    const file = join(this.folder, path);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  }

  run(...args: readonly string[]) {
    return runBuilt(this.folder, args, { env: { ...this.environment, ...this.env } });
  }

  /** The user wants these tools; what they may touch is the question. */
  async trust(): Promise<void> {
    await trustFolder(this.folder, { ...process.env, ...this.environment, ...this.env });
  }

  /** What the user approves: only a change asks again. */
  private approvable(): string {
    const tools = readdirSync(join(this.folder, 'tools')).map((name) => this.read(join('tools', name)));
    return JSON.stringify([this.read('volley.toml'), tools]);
  }

  get environment(): Readonly<Record<string, string>> {
    return { HOME: this.home, XDG_CONFIG_HOME: join(this.home, '.config') };
  }

  /** Makes the calls one after the other, and gives what became of each. */
  attack(...attacks: readonly Attack[]): Promise<AttackResult[]> {
    return this.make(attacks, 1);
  }

  /** The same at once. */
  attackAtOnce(...attacks: readonly Attack[]): Promise<AttackResult[]> {
    return this.make(attacks, attacks.length);
  }

  /** Makes the first call, and beside it the others one after the other. */
  attackBeside(...attacks: readonly Attack[]): Promise<AttackResult[]> {
    return this.make(attacks, 2);
  }

  private async make(attacks: readonly Attack[], max_concurrent: number): Promise<AttackResult[]> {
    const code = this.approvable();
    if (code !== this.approved) await this.trust();
    this.approved = code;
    const batch = `attack-${++this.count}`;
    const tasks = attacks.map((each, index) => ({ id: `a${index}`, ...each }));
    this.write(`${batch}.json`, JSON.stringify({ max_concurrent, tasks }));
    const { stderr } = await this.run('run', `${batch}.json`, '--batch', batch);
    const results = await this.resultsOf(batch);
    if (results.length !== attacks.length) throw new Error(stderr);
    return results;
  }

  /** What the program has recorded, read from its store: a second run of the program takes as long as the attacks. */
  private async resultsOf(batch: string): Promise<AttackResult[]> {
    const store = await loadStore((await loadStorePlace({ cwd: this.folder, env: this.environment })).file);
    try {
      const tasks = await store.tasks(batch, { limit: 1000 });
      const results = await store.results(
        batch,
        tasks.map(({ id }) => id),
      );
      return tasks.map(({ id, status, code = null, message = null }) => ({
        ...{ status, code, message },
        ...(results.has(id) && { result: JSON.parse(results.get(id)!) }),
      }));
    } finally {
      await store.close();
    }
  }
}

/** A command that writes to a path, making the folders on the way. */
export function writing(path: string): Attack {
  const command = `mkdir -p '${dirname(path)}' && echo hostile > '${path}'`;
  return { function: 'shell', params: { command } };
}

/** The `PATH` of a machine without bubblewrap. */
export function pathWithoutBubblewrap(): string {
  const folder = newFolder('volley-programs-');
  for (const name of ['sh', 'perl', 'mkdir', 'cat', 'rm', 'ls']) {
    const program = ['/usr/bin', '/bin'].map((each) => join(each, name)).find((each) => existsSync(each));
    if (program !== undefined)
      writeFileSync(join(folder, name), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 });
  }
  return folder;
}

function newFolder(prefix: string): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), prefix)));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
