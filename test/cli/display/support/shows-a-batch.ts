import { LiveDisplay } from '../../../../src/cli/display/live-display.ts';
import { createColors } from '../../../../src/cli/output/colors.ts';
import { viewWith } from './views.ts';

/** Shows a batch, then ends in the way that it is told, or waits for a signal. */
const display = new LiveDisplay({
  stream: process.stdout,
  colors: createColors(true),
  view: () => viewWith({ counts: { open: 3 } }),
});
display.changed();
const waiting = setInterval(() => {}, 1000);
setTimeout(() => {
  if (process.argv[2] === 'throw') throw new Error('on purpose');
  if (process.argv[2] === 'exit') process.exit(3);
}, 100);
// If no signal comes, the test must fail, not hang.
setTimeout(() => clearInterval(waiting), 120_000).unref();
