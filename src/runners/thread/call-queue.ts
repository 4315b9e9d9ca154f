import type { ThreadCall } from './thread-call.ts';

/** Calls that wait for a thread, as a linked list: a cancelled one leaves from the middle at once. */
export class CallQueue {
  size = 0;
  first: ThreadCall | undefined = undefined;
  private last: ThreadCall | undefined = undefined;

  push(call: ThreadCall): void {
    call.before = this.last;
    call.after = undefined;
    if (this.last === undefined) this.first = call;
    else this.last.after = call;
    this.last = call;
    this.enter(call);
  }

  /** For a call that was given to a thread and taken back: it was here before all others. */
  pushFront(call: ThreadCall): void {
    call.before = undefined;
    call.after = this.first;
    if (this.first === undefined) this.last = call;
    else this.first.before = call;
    this.first = call;
    this.enter(call);
  }

  remove(call: ThreadCall): void {
    if (call.before === undefined) this.first = call.after;
    else call.before.after = call.after;
    if (call.after === undefined) this.last = call.before;
    else call.after.before = call.before;
    call.before = undefined;
    call.after = undefined;
    call.isQueued = false;
    this.size--;
  }

  shift(): ThreadCall | undefined {
    const { first } = this;
    if (first !== undefined) this.remove(first);
    return first;
  }

  private enter(call: ThreadCall): void {
    call.isQueued = true;
    this.size++;
  }
}
