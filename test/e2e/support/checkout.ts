import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { say } from '../../cli/support/program.ts';
import { buildProgram } from './built-program.ts';
import type { Ended } from './built-volley.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const built = await buildProgram();
/** Some sources are enough to analyse. */
const COPIED = ['examples', 'src/store', 'package.json', 'LICENSE'];

/** A copy of what the examples need, so that they write into no one's tree, with a build of the sources as they are. */
export class Checkout {
  readonly folder = mkdtempSync(join(tmpdir(), 'volley-checkout-'));
  private readonly before: ReadonlySet<string>;

  constructor() {
    for (const name of COPIED) {
      const filter = (path: string) => !/[/\\](?:\.volley|out)$/.test(path);
      cpSync(join(ROOT, name), join(this.folder, name), { recursive: true, filter });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'), 'junction');
    symlinkSync(join(built.folder, 'dist'), join(this.folder, 'dist'), 'junction');
    this.before = new Set(this.files());
  }

  /** Runs one of its programs. */
  run(program: string): Promise<Ended> {
    return this.node([join(this.folder, program)], '.');
  }

  /** Makes JavaScript of a TypeScript file beside it, to be run. */
  async compile(file: string): Promise<string> {
    const target = file.replace(/\.ts$/, '.mjs');
    const { default: ts } = await import('typescript');
    const { outputText } = ts.transpileModule(readFileSync(join(this.folder, file), 'utf8'), {
      fileName: file,
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
    });
    writeFileSync(join(this.folder, target), outputText);
    return target;
  }

  /** Runs the command line in one of its folders. */
  volley(args: readonly string[], folder: string): Promise<Ended> {
    return this.node([built.main, ...args], folder);
  }

  /** The same with the hash that examples/README.md has users give. */
  async trustedVolley(args: readonly string[], folder: string): Promise<Ended> {
    const { stdout } = await say(join(this.folder, folder), ['trust', '--print']);
    return this.node([built.main, ...args], folder, { VOLLEY_TRUST: stdout.trim() });
  }

  /** The files that there were not at the beginning, with slashes; not those of packages, which other tests have too. */
  newFiles(): string[] {
    return this.files().filter((path) => !this.before.has(path));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async node(
    args: readonly string[],
    folder: string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<Ended> {
    const child = spawn(process.execPath, args, {
      cwd: join(this.folder, folder),
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        output[stream] += text;
      });
    }
    const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
    return { status, ...output };
  }

  private files(): string[] {
    return readdirSync(this.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(this.folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
      .filter((path) => !path.startsWith('node_modules/'));
  }
}
