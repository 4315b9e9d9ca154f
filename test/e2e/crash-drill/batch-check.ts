import type { BatchRecord, TaskRecord, TaskStatus } from '../../../src/store/records.ts';
import { type Note, type Trail, trailsIn } from './tool-log.ts';
import { type DrillTask, startsOnce } from './workload.ts';

/** What the journal says of a batch. */
export interface Journal {
  readonly batch: BatchRecord | undefined;
  readonly tasks: readonly TaskRecord[];
  /** The text of a result. */
  readonly resultOf: (id: string) => string | undefined;
}

const NEVER: Trail = { starts: 0, fails: 0, last: 'fail', at: -1 };

/** Compares what the journal of one batch says with what the tools have noted, at each kill and at the end. */
export class BatchCheck {
  readonly surprises: string[] = [];
  /** What ran at kills and could not be settled, all kills together. */
  inHand = 0;
  /** Starts that would not have been necessary without kills. */
  repeats = 0;
  crashed = 0;
  private readonly tasks: Map<string, DrillTask>;
  /** At how many kills a task was running. */
  private readonly caught = new Map<string, number>();
  /** What had ended at a kill, and how often it had been started then. */
  private readonly settled = new Map<string, { status: TaskStatus; starts: number }>();
  private wasThere = false;

  constructor(
    private readonly name: string,
    tasks: readonly DrillTask[],
    private readonly maxConcurrent: number,
  ) {
    this.tasks = new Map(tasks.map((task) => [task.id, task]));
  }

  /** A task that the program said it has taken. */
  accept(task: DrillTask): void {
    this.tasks.set(task.id, task);
    this.wasThere = true;
  }

  /** `since` is how many notes there were when the program that was killed had been started. */
  afterKill(notes: readonly Note[], since: number, journal: Journal): void {
    const trails = this.checkStanding(notes, journal);
    let running = 0;
    for (const { id, status } of journal.tasks) {
      const trail = trails.get(id) ?? NEVER;
      if (status === 'open' || status === 'running') {
        if (trail.at < since || trail.last === 'fail') continue;
        running++;
        this.caught.set(id, (this.caught.get(id) ?? 0) + 1);
      } else this.settled.set(id, { status, starts: trail.starts });
    }
    this.inHand += running;
    if (running > this.maxConcurrent)
      this.surprise(`${running} tasks ran at once, but at most ${this.maxConcurrent} were allowed`);
  }

  atEnd(notes: readonly Note[], journal: Journal): void {
    const trails = this.checkStanding(notes, journal);
    this.checkOrder(notes);
    if (journal.batch?.holder !== undefined) this.surprise('somebody still holds the batch');
    const statuses = new Map(journal.tasks.map(({ id, status }) => [id, status]));
    for (const record of journal.tasks) {
      const task = this.tasks.get(record.id);
      if (task === undefined) continue;
      this.checkStarts(task, trails.get(record.id) ?? NEVER);
      this.checkEnd(task, record, trails.get(record.id) ?? NEVER, statuses);
      if (record.status === 'completed' && task.function !== 'shell') {
        const result = journal.resultOf(record.id);
        if (result !== JSON.stringify({ key: task.params['key'] }))
          this.surprise(`${record.id} has the result ${result}`);
      }
    }
  }

  private checkStanding(notes: readonly Note[], { batch, tasks }: Journal): Map<string, Trail> {
    const own = notes.map((note) => ({ ...note, key: this.idOf(note.key) }));
    const trails = trailsIn(own);
    trails.delete('');
    const ids = new Set(tasks.map(({ id }) => id));
    // All of a list or nothing is added, and what was there stays.
    this.wasThere ||= ids.size > 0;
    if (this.wasThere)
      for (const id of this.tasks.keys()) if (!ids.has(id)) this.surprise(`${id} was accepted and is lost`);
    for (const id of trails.keys()) if (!ids.has(id)) this.surprise(`${id} was started, but nobody knows it`);
    const counted = { open: 0, running: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };
    for (const { id, status } of tasks) {
      counted[status]++;
      const before = this.settled.get(id);
      if (before === undefined) continue;
      const { starts } = trails.get(id) ?? NEVER;
      if (status !== before.status) this.surprise(`${id} was ${before.status} and is ${status} now`);
      if (starts !== before.starts) this.surprise(`${id} was ${before.status} and was started again`);
    }
    if (batch !== undefined && JSON.stringify(batch.counts) !== JSON.stringify(counted))
      this.surprise(`${JSON.stringify(batch.counts)} is counted, but there are ${JSON.stringify(counted)}`);
    return trails;
  }

  private checkStarts(task: DrillTask, { starts, fails }: Trail): void {
    const caught = this.caught.get(task.id) ?? 0;
    const most = startsOnce(task) ? 1 : 1 + fails + caught;
    if (starts > most) this.surprise(`${task.id} (${task.function}) was started ${starts} times`);
    this.repeats += Math.max(0, starts - fails - 1);
  }

  /** Every task has come to an end that follows from its kind, from what it depends on and from kills. */
  private checkEnd(
    task: DrillTask,
    { id, status, reason }: TaskRecord,
    { starts, last }: Trail,
    statuses: ReadonlyMap<string, TaskStatus>,
  ): void {
    const found = reason === undefined ? status : `${status} ${reason}`;
    const isCrash = found === 'failed crashed' && startsOnce(task);
    if (isCrash) this.crashed++;
    const isRuledOut =
      task.on_dependency_failure === undefined &&
      (task.depends_on ?? []).some((other) => statuses.get(other) !== 'completed');
    const expected = isRuledOut ? 'skipped' : task.function === 'doomed' ? 'failed error' : 'completed';
    if (found !== expected && !(isCrash && !isRuledOut))
      this.surprise(`${id} (${task.function}) is ${found} instead of ${expected}`);
    if (status === 'skipped' && starts > 0) this.surprise(`${id} was skipped, but it was started`);
    if (status === 'completed' && last !== 'end')
      this.surprise(`${id} is completed, but its tool did not end`);
  }

  /** What others depend on had ended whenever they were started. */
  private checkOrder(notes: readonly Note[]): void {
    const last = new Map<string, Note['word']>();
    for (const { word, key } of notes) {
      const id = this.idOf(key);
      const { depends_on = [], on_dependency_failure } = this.tasks.get(id) ?? {};
      if (word === 'start' && on_dependency_failure === undefined)
        for (const other of depends_on)
          if (last.get(other) !== 'end') this.surprise(`${id} was started before ${other} had ended`);
      last.set(id, word);
    }
  }

  /** Empty for notes of other batches. */
  private idOf(key: string): string {
    const [batch, id] = key.split('/');
    return batch === this.name ? id! : '';
  }

  private surprise(text: string): void {
    this.surprises.push(`${this.name}: ${text}`);
  }
}
