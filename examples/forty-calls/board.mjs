/** What a viewer knows: built from the engine's updates alone, as a view in another process would be. */
export class Board {
  /** The call that runs in each lane, if one does. */
  lanes;
  /** How many calls each tool has, and how many of them have settled. */
  totals = new Map();
  settled = new Map();
  /** The latest events that are worth a line. */
  notes = [];

  constructor(handles, laneCount, startedAt) {
    for (const { toolName } of handles) increase(this.totals, toolName);
    this.lanes = new Array(laneCount).fill(undefined);
    this.startedAt = startedAt;
  }

  /** Takes note of an update, and answers with a note if it deserves a line of its own. */
  apply(update) {
    switch (update.type) {
      case 'started':
        this.lanes[this.lanes.indexOf(undefined)] = {
          id: update.executionId,
          tool: update.toolName,
          share: 0,
          step: '',
        };
        return undefined;
      case 'progress':
      case 'step':
        this.advance(update);
        return undefined;
      case 'retrying':
        this.leave(update);
        return this.note(
          update,
          '↻',
          'yellow',
          `${update.error}, again in ${(update.retryInMs / 1000).toFixed(1)} s`,
        );
      case 'failed':
        this.settle(update);
        return this.note(update, '✗', 'red', update.error);
      case 'skipped':
        this.settle(update);
        return this.note(update, '↷', 'dim', `skipped, because of "${update.cause}"`);
      case 'completed':
        this.settle(update);
        return undefined;
    }
  }

  advance({ executionId, progress, step }) {
    const lane = this.lanes.find((one) => one?.id === executionId);
    if (lane === undefined) return;
    lane.share = progress ?? lane.share;
    lane.step = step ?? lane.step;
  }

  settle(update) {
    this.leave(update);
    increase(this.settled, update.toolName);
  }

  leave({ executionId }) {
    const at = this.lanes.findIndex((one) => one?.id === executionId);
    if (at >= 0) this.lanes[at] = undefined;
  }

  note({ executionId, at }, sign, colour, text) {
    const note = { sinceMs: at - this.startedAt, id: executionId, sign, colour, text };
    this.notes.push(note);
    return note;
  }
}

function increase(counts, key) {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
