/** Forty calls of an agent on the engine alone, without a store or the command line, live. */

import { ParallelExecutionEngine } from 'volley';
import { Board } from './board.mjs';
import { LineDisplay } from './lines.mjs';
import { LiveDisplay } from './live.mjs';
import { isLive } from './paint.mjs';
import { calls, ENGINE_OPTIONS } from './story.mjs';
import { summaryLines } from './summary.mjs';

const engine = new ParallelExecutionEngine(ENGINE_OPTIONS);
const updates = engine.progress.subscribe();
const batch = engine.submitAll(calls(), { name: 'research' });

const board = new Board(batch.handles, ENGINE_OPTIONS.maxConcurrency, Date.now());
const display = isLive ? new LiveDisplay(board, batch) : new LineDisplay(board);

// The reader of a pipe may have seen enough.
process.stdout.once('error', () => process.exit());

let wasInterrupted = false;
process.once('SIGINT', () => {
  wasInterrupted = true;
  engine.cancelAll('interrupted');
});

const closed = engine.close();
for await (const update of updates) display.update(update, board.apply(update));
await closed;

if (wasInterrupted) {
  display.close([' Interrupted: what ran was told to stop, what waited was cancelled.']);
  process.exitCode = 130;
} else {
  display.close(summaryLines(engine, await batch.outcome(), await batch.outcomes()));
}
