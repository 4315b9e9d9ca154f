/** Draws the board in place, several times a second. */

import { bar, cell, paint, screenWidth, seconds } from './paint.mjs';
import { TITLE, TOOLS } from './story.mjs';

const FRAME_MS = 80;
const ASK_MS = 400;
const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';

export class LiveDisplay {
  #board;
  #batch;
  #height = 0;
  #left = { askAt: 0, text: '' };
  #timer;

  constructor(board, batch) {
    this.#board = board;
    this.#batch = batch;
    process.stdout.write(HIDE_CURSOR);
    process.once('exit', () => process.stdout.write(SHOW_CURSOR));
    process.stdout.on('resize', this.#onResize);
    this.#timer = setInterval(() => this.#draw(), FRAME_MS);
    this.#draw();
  }

  update() {}

  /** Puts the last lines in the place of the drawing. */
  close(lines) {
    clearInterval(this.#timer);
    process.stdout.off('resize', this.#onResize);
    this.#write(['', header(), '', ...lines]);
    process.stdout.write(`\x1b[J${SHOW_CURSOR}`);
  }

  #onResize = () => {
    process.stdout.write('\x1b[2J\x1b[H');
    this.#height = 0;
    this.#draw();
  };

  #home() {
    return this.#height === 0 ? '' : `\x1b[${this.#height}F`;
  }

  /** One write for each frame, each line cleared behind its end: nothing flickers. */
  #draw() {
    this.#write(this.#frame(screenWidth()));
  }

  #write(lines) {
    process.stdout.write(`${this.#home()}${lines.map((line) => `${line}\x1b[K\n`).join('')}`);
    this.#height = lines.length;
  }

  #frame(width) {
    const { lanes, notes } = this.#board;
    return [
      '',
      header(),
      '',
      ...TOOLS.map((tool) => this.#toolLine(tool, width)),
      '',
      ...lanes.map((lane, index) => laneLine(lane, index + 1, width)),
      '',
      ...this.#totalLines(width),
      '',
      ...[notes.at(-2), notes.at(-1)].map((note) => (note === undefined ? '' : noteLine(note, width))),
    ];
  }

  #toolLine({ name, colour, rule }, width) {
    const total = this.#board.totals.get(name);
    const done = this.#board.settled.get(name) ?? 0;
    const count = `${done}/${total}`;
    const style = done === total ? [colour, 'bold'] : colour;
    return ` ${paint(style, cell(name, 8))} ${bar(done / total, width - 47, colour)} ${count.padStart(5)}  ${paint('dim', cell(rule, 29))}`;
  }

  #totalLines(width) {
    const { progress, total, running, completed, failed, skipped } = this.#batch.progress();
    const done = completed + failed + skipped;
    const counts = `${done} done, ${running} running, ${total - done - running} waiting`;
    const passed = seconds(Date.now() - this.#board.startedAt);
    return [
      ` ${paint('bold', cell('all', 8))} ${bar(progress, width - 47, 'white')} ${`${Math.floor(progress * 100)} %`.padStart(5)}  ${counts}`,
      ` ${' '.repeat(8)} ${paint('dim', `${passed} so far, ${this.#timeLeft()}`)}`,
    ];
  }

  /** Asked a few times a second, so that it can be read. */
  #timeLeft() {
    const now = Date.now();
    if (now >= this.#left.askAt)
      this.#left = { askAt: now + ASK_MS, text: timeLeftText(this.#batch.timeLeft()) };
    return this.#left.text;
  }
}

function timeLeftText(left) {
  if (left === undefined) return 'who knows how long still';
  const [low, high] = [left.lowMs, left.highMs].map((ms) => (ms / 1000).toFixed(1));
  return `${low === high ? low : `${low} to ${high}`} s left`;
}

function header() {
  return ` ${paint('bold', 'Volley')} ${paint('dim', '·')} ${TITLE}`;
}

function laneLine(lane, number, width) {
  if (lane === undefined) return paint('dim', ` ${number}  ·`);
  const { colour } = TOOLS.find(({ name }) => name === lane.tool);
  const percent = `${Math.floor(lane.share * 100)} %`.padStart(5);
  return ` ${paint('dim', String(number))}  ${paint(colour, cell(lane.id, 25))} ${bar(lane.share, width - 53, colour)} ${percent}  ${paint('dim', cell(lane.step, 15))}`;
}

function noteLine({ sinceMs, id, sign, colour, text }, width) {
  return ` ${paint('dim', seconds(sinceMs).padStart(6))}  ${paint(colour, cell(`${sign} ${id}: ${text}`, width - 10).trimEnd())}`;
}
