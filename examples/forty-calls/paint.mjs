/** Colours, bars and columns for a terminal; without colour where nobody could see it or nobody wants it. */

import { styleText } from 'node:util';

const { stdout, env } = process;

/** Whether the screen can be redrawn in place. */
export const isLive =
  stdout.isTTY === true && env.TERM !== 'dumb' && (stdout.rows ?? 24) >= 24 && (stdout.columns ?? 80) >= 72;

const isColoured = stdout.isTTY === true && env.TERM !== 'dumb' && (env.NO_COLOR ?? '') === '';

export function paint(style, text) {
  return isColoured && text !== '' ? styleText(style, text, { validateStream: false }) : text;
}

/** A bar of a given width, so much of it filled. */
export function bar(share, width, colour) {
  const filled = share >= 1 ? width : Math.min(width - 1, Math.floor(share * width));
  return paint(colour, '━'.repeat(filled)) + paint('dim', '─'.repeat(width - filled));
}

/** Exactly so many columns: cut off or filled up. */
export function cell(text, width) {
  return text.length > width ? `${text.slice(0, Math.max(0, width - 1))}…` : text.padEnd(width);
}

const HEIGHTS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** One character for each number, 0 to `most`; only 0 itself is blank. */
export function sparkline(numbers, most) {
  return numbers
    .map((number) => HEIGHTS[number === 0 ? 0 : Math.max(1, Math.min(8, Math.round((8 * number) / most)))])
    .join('');
}

/** How wide a line may be: not wider than can be read well. */
export function screenWidth() {
  return Math.min(110, stdout.columns ?? 80) - 2;
}

export function seconds(ms) {
  return `${(ms / 1000).toFixed(2)} s`;
}
