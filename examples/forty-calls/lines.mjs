/** One line for each call that ends or is tried again: for a file, a pipe or a terminal that cannot redraw. */

import { paint, seconds } from './paint.mjs';
import { TITLE } from './story.mjs';

export class LineDisplay {
  #startedAt;

  constructor(board) {
    this.#startedAt = board.startedAt;
    console.log(`Volley · ${TITLE}\n`);
  }

  update(update, note) {
    const { type, executionId, attempt } = update;
    if (note !== undefined) this.#print(update, note.sign, note.colour, `${executionId}: ${note.text}`);
    else if (type === 'completed') {
      this.#print(update, '✓', 'green', attempt === 1 ? executionId : `${executionId} (attempt ${attempt})`);
    }
  }

  close(lines) {
    console.log(['', ...lines].join('\n'));
  }

  #print({ at }, sign, colour, text) {
    console.log(`${seconds(at - this.#startedAt).padStart(7)}  ${paint(colour, sign)} ${text}`);
  }
}
