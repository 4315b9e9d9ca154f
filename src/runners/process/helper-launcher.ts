import { VolleyError } from '../../core/errors.ts';
import { Helper, type HelperCommand } from './helper.ts';
import type { LaunchedProcess, Launcher, LaunchListener, LaunchRequest, OwnFolders } from './launcher.ts';
import { withShellLimits } from './shell-limits.ts';
import { SpawnLauncher } from './spawn-launcher.ts';

/**
 * Launches through a helper process that starts on demand, and again if it dies. If it cannot even start, everything
 * goes to the fallback from then on, including pending requests.
 */
export class HelperLauncher implements Launcher {
  private helper: Helper | undefined;
  private isUnusable = false;
  private isClosed = false;
  private lastSandbox = 0;
  /** Settles when the helper and everything it launched are gone. */
  private dealtWith: Promise<void> | undefined;

  constructor(
    private readonly substitute: Launcher,
    private readonly command: HelperCommand = { perl: 'perl', mode: modeOfThisMachine() },
  ) {}

  /** The process id of the running helper. */
  get helperPid(): number | undefined {
    return this.helper?.pid;
  }

  prepare(): void {
    if (this.isClosed) return;
    if (this.isUnusable) this.substitute.prepare();
    else this.current();
  }

  launch(request: LaunchRequest, listener: LaunchListener): LaunchedProcess {
    if (this.isClosed) throw new VolleyError('RUNNER_CLOSED', 'The launcher is closed. Create a new one.');
    if (this.isUnusable) return this.substitute.launch(request, listener);
    if (this.command.mode === 'portable') request = withShellLimits(request);
    return this.current().launch(request, listener);
  }

  keepSandbox(pid: number, own: OwnFolders): number | undefined {
    if (this.helper?.isReady !== true || this.command.mode === 'portable') return undefined;
    // Never used again, not even by the next helper.
    const id = ++this.lastSandbox;
    this.helper.keepSandbox(id, pid, own);
    return id;
  }

  hasSandbox(id: number): boolean {
    return this.helper?.sandboxes.has(id) === true;
  }

  dropSandbox(id: number): void {
    this.helper?.dropSandbox(id);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.helper?.close();
    await this.dealtWith;
    await this.substitute.close();
  }

  private current(): Helper {
    if (this.helper === undefined) {
      const helper = new Helper(this.command);
      this.helper = helper;
      this.dealtWith = helper.gone.then((reason) => this.replace(helper, reason));
    }
    return this.helper;
  }

  private async replace(helper: Helper, reason: string): Promise<void> {
    this.helper = undefined;
    const launches = helper.abandon();
    if (helper.isReady || this.isClosed) {
      const text = `the helper that starts processes is gone: ${reason}`;
      await Promise.all(launches.map((launch) => launch.lose(text)));
    } else {
      this.isUnusable = true;
      for (const launch of launches) launch.moveTo(this.substitute);
    }
  }
}

/** The fastest way to run the helper here. */
export function modeOfThisMachine(): HelperCommand['mode'] {
  const { platform, arch } = process;
  if (platform !== 'linux') return 'portable';
  return arch === 'x64' ? 'x86_64' : arch === 'arm64' ? 'aarch64' : 'portable';
}

/** The fastest launcher that works here. Nothing is started before `prepare()` or the first launch. */
export function createLauncher(): Launcher {
  return new HelperLauncher(new SpawnLauncher());
}
