import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { VolleyError } from '../core/errors.ts';
import type { BatchTable } from './batch-table.ts';
import { checkRoomFor, keyOf } from './keys.ts';
import { openRecord } from './open-record.ts';
import type { NewTask, TaskRecord } from './records.ts';
import { OPEN } from './statuses.ts';
import { isConstraint } from './store-error.ts';
import { type StoredText, toStored } from './text.ts';
import type { Steps } from './write-queue.ts';

const TASKS_PER_STEP = 100;
/** So many rows are written by one statement: calling SQLite takes longer than writing a row. */
const ROWS = 20;
const ROW = '(?, ?, ?, ?, ?, ?, ?, ?)';

/** Adds tasks to batches. */
export class TaskAdding {
  private readonly insertOne: StatementSyncInstance;
  private readonly insertMany: StatementSyncInstance;
  private readonly openThem: StatementSyncInstance;

  constructor(
    writer: DatabaseSyncInstance,
    private readonly batches: BatchTable,
  ) {
    const insert = 'INSERT INTO tasks (key, batch, id, name, function, added_at, options, params) VALUES';
    this.insertOne = writer.prepare(`${insert} ${ROW}`);
    this.insertMany = writer.prepare(`${insert} ${new Array<string>(ROWS).fill(ROW).join(', ')}`);
    this.openThem = writer.prepare(
      `INSERT INTO states (key, status, attempts) SELECT key, ${OPEN}, 0 FROM tasks WHERE key BETWEEN ? AND ?`,
    );
  }

  /** All or nothing, if whoever runs the steps undoes them when they throw. */
  *add(batch: string, tasks: readonly NewTask[], at: number): Steps<TaskRecord[]> {
    const { id: batchId, last_seq: lastSeq } = this.batches.findOrCreate(batch, at);
    checkRoomFor(batch, lastSeq, tasks.length);
    const records: TaskRecord[] = [];
    for (let done = 0; done < tasks.length; done += TASKS_PER_STEP) {
      if (done > 0) yield;
      const some = tasks.slice(done, done + TASKS_PER_STEP);
      const firstSeq = lastSeq + done + 1;
      this.addSome(batch, some, keyOf(batchId, firstSeq), batchId, at);
      for (const [index, task] of some.entries()) records.push(openRecord(batch, firstSeq + index, task, at));
    }
    this.batches.setLastSeq(batchId, lastSeq + tasks.length);
    this.batches.changeCount(batchId, OPEN, tasks.length);
    return records;
  }

  private addSome(
    batch: string,
    tasks: readonly NewTask[],
    firstKey: number,
    batchId: number,
    at: number,
  ): void {
    let done = 0;
    try {
      for (; done + ROWS <= tasks.length; done += ROWS) {
        const row = (task: NewTask, index: number) => valuesOf(task, firstKey + done + index, batchId, at);
        this.insertMany.run(...tasks.slice(done, done + ROWS).flatMap(row));
      }
    } catch (error) {
      // One of them is there already. Nothing of the statement was written, and the single rows tell which it is.
      if (!isConstraint(error)) throw error;
    }
    for (; done < tasks.length; done++) this.addOne(batch, tasks[done]!, firstKey + done, batchId, at);
    this.openThem.run(firstKey, firstKey + tasks.length - 1);
  }

  private addOne(batch: string, task: NewTask, key: number, batchId: number, at: number): void {
    try {
      this.insertOne.run(...valuesOf(task, key, batchId, at));
    } catch (error) {
      if (!isConstraint(error)) throw error;
      throw new VolleyError(
        'DUPLICATE_ID',
        `The batch ${JSON.stringify(batch)} has a task ${JSON.stringify(task.id)} already, or it is given twice. Nothing was added.`,
        { batch, id: task.id },
      );
    }
  }
}

function valuesOf(task: NewTask, key: number, batchId: number, at: number): (StoredText | number | null)[] {
  const options = JSON.stringify(task.options);
  return [
    key,
    batchId,
    toStored(task.id),
    toStored(task.name),
    toStored(task.function),
    at,
    options === '{}' ? null : toStored(options),
    toStored(task.params),
  ];
}
