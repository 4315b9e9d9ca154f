import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { trustFolder } from '../../support/trust.ts';
import { type BuiltProgram, buildProgram } from '../support/built-program.ts';

/** The real program in a folder of its own, with the tools of the drill. */
export class DrillProgram {
  readonly log: string;
  readonly store: string;
  readonly mark = `volley-crash-drill-${process.pid}-${Date.now()}`;

  private constructor(
    readonly folder: string,
    private readonly built: BuiltProgram,
  ) {
    this.log = join(folder, 'log');
    this.store = join(folder, '.volley/volley.db');
  }

  static async in(folder: string): Promise<DrillProgram> {
    const program = new DrillProgram(folder, await buildProgram());
    mkdirSync(join(folder, 'tools'));
    for (const name of ['tools.mjs', 'work.mjs'])
      copyFileSync(
        fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url)),
        join(folder, 'tools', name),
      );
    writeFileSync(
      join(folder, 'volley.toml'),
      '[tools]\nmodules = ["./tools/tools.mjs"]\n[tools.shell]\nenabled = true\nenv = ["DRILL_MARK"]\n',
    );
    await trustFolder(folder);
    writeFileSync(program.log, '');
    return program;
  }

  start(...args: string[]): ProgramRun {
    const child = spawn(process.execPath, [this.built.main, ...args, '--json'], {
      cwd: this.folder,
      env: {
        ...process.env,
        DRILL_MARK: this.mark,
        DRILL_DEFINE_TOOL: this.built.moduleUrl('tools/define-tool.js'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return new ProgramRun(child);
  }
}

/** One run of the program, until it ends or is killed. */
export class ProgramRun {
  /** When all that it wrote was read; the exit status, null if it was killed. */
  readonly ended: Promise<number | null>;
  hasEnded = false;
  stdout = '';
  stderr = '';

  constructor(private readonly child: ChildProcess) {
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    child.on('exit', () => {
      this.hasEnded = true;
    });
    this.ended = new Promise((resolve) => {
      child.on('close', resolve);
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** kill -9. Says whether that ended it; it may have been quicker. */
  async kill(): Promise<boolean> {
    const exited = this.hasEnded ? undefined : once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
    return this.child.signalCode === 'SIGKILL';
  }
}
