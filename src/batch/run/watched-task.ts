import type { Report, TaskContext } from '../../engine/task.ts';
import type { RunningTask } from './monitor.ts';

/** The attempt as the engine gives it, counted over all runs, with what it reports written down for whoever looks. */
export class WatchedTask implements TaskContext {
  readonly id: string;
  readonly attempt: number;

  constructor(
    private readonly task: TaskContext,
    private readonly shown: RunningTask,
    private readonly owner: { reported(shown: RunningTask): void },
  ) {
    this.id = task.id;
    this.attempt = shown.attempt;
  }

  get signal(): TaskContext['signal'] {
    return this.task.signal;
  }

  get onStop(): TaskContext['onStop'] {
    return this.task.onStop;
  }

  get began(): TaskContext['began'] {
    return this.task.began;
  }

  get keeping(): TaskContext['keeping'] {
    return this.task.keeping;
  }

  get outcomes(): TaskContext['outcomes'] {
    return this.task.outcomes;
  }

  get submit(): TaskContext['submit'] {
    return this.task.submit;
  }

  get report(): Report {
    const { task, shown, owner } = this;
    return (first: number | string, step?: string) => {
      if (typeof first === 'string') {
        task.report(first);
        shown.step = first;
        owner.reported(shown);
        return;
      }
      task.report(first, step);
      shown.progress = first;
      if (step !== undefined) shown.step = step;
      owner.reported(shown);
    };
  }
}
