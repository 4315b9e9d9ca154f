import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { VolleyError } from '../core/errors.ts';
import type { BatchTable } from './batch-table.ts';
import { checkRoomFor, keyOf } from './keys.ts';
import { type AddedTasks, type NewTask, NO_OPTIONS } from './records.ts';
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
  *add(batch: string, tasks: readonly NewTask[], at: number): Steps<AddedTasks> {
    const { id: batchId, last_seq: lastSeq } = this.batches.findOrCreate(batch, at);
    checkRoomFor(batch, lastSeq, tasks.length);
    for (let done = 0; done < tasks.length; done += TASKS_PER_STEP) {
      if (done > 0) yield;
      const some = tasks.slice(done, done + TASKS_PER_STEP);
      this.addSome(batch, some, keyOf(batchId, lastSeq + done + 1), batchId, at);
    }
    this.batches.setLastSeq(batchId, lastSeq + tasks.length);
    this.batches.changeCount(batchId, OPEN, tasks.length);
    return { firstSeq: lastSeq + 1, lastSeq: lastSeq + tasks.length, addedAt: at };
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
        const values: (StoredText | number | null)[] = [];
        for (let row = done; row < done + ROWS; row++)
          addValues(values, tasks[row]!, firstKey + row, batchId, at);
        this.insertMany.run(...values);
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
      const values: (StoredText | number | null)[] = [];
      addValues(values, task, key, batchId, at);
      this.insertOne.run(...values);
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

function addValues(
  values: (StoredText | number | null)[],
  { id, name, function: tool, options, params }: NewTask,
  key: number,
  batchId: number,
  at: number,
): void {
  const text = options === NO_OPTIONS ? '{}' : JSON.stringify(options);
  values.push(
    key,
    batchId,
    toStored(id),
    toStored(name),
    toStored(tool),
    at,
    text === '{}' ? null : toStored(text),
    toStored(params),
  );
}
