import { VolleyError } from '../core/errors.ts';
import { loadCode, type PortableCode } from './load-code.ts';
import type { Runner, RunnerCall, RunnerTask, ToolCode, ToolContext, ToolRun } from './runner.ts';

/**
 * Calls the function in this thread. Contains only its errors: it stops only if it obeys its signal, it can block the
 * event loop, and no limit is enforced.
 */
export class InlineRunner implements Runner {
  private readonly loaded = new WeakMap<ToolCode, ToolRun>();
  private isClosed = false;

  run(call: RunnerCall, task: RunnerTask): Promise<unknown> {
    const { code, toolName, input } = call;
    try {
      if (this.isClosed)
        throw new VolleyError('RUNNER_CLOSED', `The runner was closed before "${toolName}" was called.`);
      // A promise of the function's own needs no wrapper.
      if (code.kind === 'function') return Promise.resolve(code.run(input, task as ToolContext));
      return this.runLoaded(code, call, task);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  private async runLoaded(
    code: PortableCode,
    { toolName, input }: RunnerCall,
    task: RunnerTask,
  ): Promise<unknown> {
    let run = this.loaded.get(code);
    if (run === undefined) {
      run = await loadCode(code, toolName);
      this.loaded.set(code, run);
      task.signal.throwIfAborted();
    }
    return run(input, task as ToolContext);
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}
