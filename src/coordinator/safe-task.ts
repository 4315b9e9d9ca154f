import type { Report, TaskContext } from '../engine/task.ts';
import type { RunnerTask } from '../runners/runner.ts';
import type { Redactor } from './redaction/redactor.ts';

/** An attempt as a runner sees it. What the tool says of its progress goes into events: without secrets, and bounded. */
export class SafeTask implements RunnerTask {
  readonly id: string;
  readonly attempt: number;

  constructor(
    private readonly task: TaskContext,
    /** The execution that the caller knows. */
    private readonly reporter: TaskContext,
    private readonly redactor: Redactor,
  ) {
    this.id = reporter.id;
    this.attempt = task.attempt;
  }

  get signal(): AbortSignal {
    return this.task.signal;
  }

  get began(): TaskContext['began'] {
    return this.task.began;
  }

  get onStop(): TaskContext['onStop'] {
    return this.task.onStop;
  }

  get report(): Report {
    const { redactor } = this;
    const { report } = this.reporter;
    return (first: number | string, step?: string) => {
      if (typeof first === 'string') report(redactor.text(first));
      else if (typeof step === 'string') report(first, redactor.text(step));
      else report(first, step);
    };
  }
}
