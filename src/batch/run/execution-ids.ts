/** So many submissions there were in this process: the ids of their executions must not meet in an engine. */
let submissions = 0;

/** The ids of the executions that stand for the tasks of a batch. */
export class ExecutionIds {
  private readonly prefixes: RegExp;

  constructor(private readonly batch: string) {
    this.prefixes = new RegExp(`${batch.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}#\\d+/`, 'g');
  }

  /** What stands, with a slash, before the ids of the tasks of another submission. */
  nextPrefix(): string {
    return `${this.batch}#${++submissions}`;
  }

  /** The id of a task in that of its execution. */
  taskOf(execution: string): string {
    return execution.slice(execution.indexOf('/', this.batch.length) + 1);
  }

  /** A text with the ids of tasks instead of those of executions. */
  plain(text: string): string {
    return text.replace(this.prefixes, '');
  }
}
