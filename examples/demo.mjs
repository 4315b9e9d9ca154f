/** A batch of forty calls, live: `npm run demo`. */

import { ParallelExecutionEngine } from '../dist/index.js';
import { Board } from './demo/board.mjs';
import { LineDisplay } from './demo/lines.mjs';
import { LiveDisplay } from './demo/live.mjs';
import { isLive } from './demo/paint.mjs';
import { calls, ENGINE_OPTIONS } from './demo/story.mjs';
import { summaryLines } from './demo/summary.mjs';

const engine = new ParallelExecutionEngine(ENGINE_OPTIONS);
const updates = engine.progress.subscribe();
const batch = engine.submitAll(calls(), { name: 'research' });

const board = new Board(batch.handles, ENGINE_OPTIONS.maxConcurrency, Date.now());
const display = isLive ? new LiveDisplay(board, batch) : new LineDisplay(board);

// Whoever reads from a pipe may have seen enough.
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
