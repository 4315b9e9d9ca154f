import type { Batch, BatchAttempt, Execution, LiveEvent } from '../api/wire.ts';
import type { Row } from '../model/row.ts';
import { afterEvent, rowOf, withTry } from './rows.ts';
import type { Message, OpenBatch, State } from './state.ts';

/**
 * What all these messages make of the state. Copies of large lists are made once for all of them, so that a frame's
 * worth of events costs little more than one.
 */
export function reduce(state: State, messages: readonly Message[]): State {
  const draft = new Draft(state);
  for (const message of messages) draft.apply(message);
  return draft.finish();
}

class Draft {
  private state: State;
  private batches: Map<string, Batch> | undefined;
  private rows: Row[] | undefined;

  constructor(state: State) {
    this.state = state;
  }

  finish(): State {
    if (this.batches !== undefined) this.state = { ...this.state, batches: this.batches };
    this.keepRows();
    return this.state;
  }

  apply(message: Message): void {
    switch (message.kind) {
      case 'list':
        if (message.isWhole) this.batches = new Map();
        for (const batch of message.batches) this.setBatch(batch);
        this.state = { ...this.state, isListLoaded: true, isListStale: false };
        break;
      case 'open':
        this.rows = undefined;
        this.state = { ...this.state, open: emptyBatch(message.name) };
        break;
      case 'close':
        this.rows = undefined;
        this.state = { ...this.state, open: undefined };
        break;
      case 'rows':
        if (this.isOpen(message.name)) this.readRows(message.rows, message.isWhole);
        break;
      case 'attempts':
        if (this.isOpen(message.name)) this.readAttempts(message.attempts);
        break;
      case 'loaded':
        if (this.isOpen(message.name)) this.finishLoading();
        break;
      case 'reading':
        this.changeOpen({ missing: 'none' });
        break;
      default:
        this.applyEvent(message);
    }
  }

  private applyEvent(event: LiveEvent): void {
    switch (event.kind) {
      case 'snapshot':
        for (const batch of event.data.batches) this.setBatch(batch);
        this.updateRows(event.data.executions ?? []);
        break;
      case 'batch':
        this.setBatch(event.data);
        if (this.state.open?.isLoaded === true && this.isOpen(event.data.batch)) this.compare(event.data);
        break;
      case 'task':
        if (this.isOpen(event.data.batch)) {
          this.changeRow(event.data.id, (row) => afterEvent(row, event.data));
        }
        break;
      case 'added':
        if (this.isOpen(event.data.batch)) this.miss('tail');
        break;
      case 'cleared':
        if (this.isOpen(event.data.batch)) this.miss('all');
        this.state = { ...this.state, isListStale: true };
        break;
      case 'gap':
        this.miss('all');
        this.state = { ...this.state, isListStale: true };
        break;
      case 'end':
        break;
    }
  }

  private setBatch(batch: Batch): void {
    this.batches ??= new Map(this.state.batches);
    this.batches.set(batch.batch, batch);
  }

  private finishLoading(): void {
    const { name, isLoaded } = this.state.open!;
    this.changeOpen({ isLoaded: true });
    const batch = (this.batches ?? this.state.batches).get(name);
    if (!isLoaded && batch !== undefined) this.compare(batch);
  }

  /** What another process does to tasks is told of the batch as a whole only: the rows must be read. */
  private compare(batch: Batch): void {
    if (batch.state === 'elsewhere' || (batch.state === 'idle' && !this.agreesWith(batch))) this.miss('all');
  }

  private agreesWith({ counts }: Batch): boolean {
    const left = { ...counts };
    for (const { status } of this.rows ?? this.state.open!.rows) left[status]--;
    return Object.values(left).every((count) => count === 0);
  }

  private isOpen(name: string): boolean {
    return this.state.open?.name === name;
  }

  private changeOpen(change: Partial<OpenBatch>): void {
    if (this.state.open !== undefined)
      this.state = { ...this.state, open: { ...this.state.open, ...change } };
  }

  private miss(what: 'tail' | 'all'): void {
    if (this.state.open?.missing !== 'all') this.changeOpen({ missing: what });
  }

  private changeRow(id: string, change: (row: Row) => Row): void {
    const place = this.state.open!.places.get(id);
    // While rows are read first, what happens to those that are not there yet is told again behind them.
    if (place === undefined) {
      if (this.state.open!.isLoaded) this.miss('tail');
      return;
    }
    this.rows ??= [...this.state.open!.rows];
    this.rows[place] = change(this.rows[place]!);
  }

  /** Rows of a snapshot: they update known ones; others are still to be read. */
  private updateRows(executions: readonly Execution[]): void {
    for (const execution of executions) {
      if (this.isOpen(execution.batch)) this.changeRow(execution.id, (row) => rowOf(execution, row));
    }
  }

  private readRows(executions: readonly Execution[], isWhole: boolean): void {
    const { places } = this.state.open!;
    const before = this.rows ?? this.state.open!.rows;
    const read = executions.map((execution) => {
      const place = places.get(execution.id);
      return rowOf(execution, place === undefined ? undefined : before[place]);
    });
    if (isWhole) {
      this.replaceRows(read);
      return;
    }
    const added = read.filter(({ id }) => !places.has(id));
    for (const row of read) if (places.has(row.id)) this.changeRow(row.id, () => row);
    if (added.length > 0) this.replaceRows([...(this.rows ?? before), ...added]);
  }

  private replaceRows(rows: readonly Row[]): void {
    const sorted = rows.toSorted((a, b) => a.seq - b.seq);
    const { places } = this.state.open!;
    const isSame = sorted.length === places.size && sorted.every(({ id }, place) => places.get(id) === place);
    this.rows = undefined;
    this.changeOpen({
      rows: sorted,
      places: isSame ? places : new Map(sorted.map(({ id }, place) => [id, place])),
    });
  }

  private readAttempts(attempts: readonly BatchAttempt[]): void {
    for (const attempt of attempts) {
      if (this.state.open!.places.has(attempt.id)) this.changeRow(attempt.id, (row) => withTry(row, attempt));
    }
  }

  private keepRows(): void {
    if (this.rows !== undefined) this.changeOpen({ rows: this.rows });
    this.rows = undefined;
  }
}

function emptyBatch(name: string): OpenBatch {
  return { name, rows: [], places: new Map(), isLoaded: false, missing: 'none' };
}
