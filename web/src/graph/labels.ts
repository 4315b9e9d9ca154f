import { cut } from '../drawing/use-canvas.ts';
import type { Row } from '../model/row.ts';
import { type Shown, shownStatus } from '../model/status.ts';
import { titleOf } from '../model/text.ts';
import type { Scene } from './draw.ts';

const FONT_PX = 11;
const LINE_PX = 14;
/** What needs a look has its whole name, others no more than would cover their neighbours. */
const MAX_WIDTH_PX = 150;
const MIN_WIDTH_PX = 56;
const COLUMN_PX = 264;
/** More words than this are no help, and take time. */
const MAX_LABELS = 250;

/** What somebody looks for in a graph that is too small to be read, in this order. */
const RANK: Readonly<Record<Shown, number>> = {
  failed: 0,
  retrying: 1,
  running: 2,
  cancelled: 3,
  skipped: 4,
  open: 5,
  completed: 6,
};

/**
 * Names of the size of the page over marks that have no room for them: of what is selected, then of what needs a look,
 * then of the others, as long as none covers another.
 */
export function drawLabels(
  context: CanvasRenderingContext2D,
  scene: Scene,
  rowAt: (node: number) => Row | undefined,
): void {
  const { graph, camera, view, palette, selected, marked } = scene;
  const { xs, ys } = graph.layout;
  const seen: { row: Row; x: number; y: number; rank: number }[] = [];
  for (let node = 0; node < xs.length; node++) {
    const [x, y] = [(xs[node]! - camera.x) * camera.scale, (ys[node]! - camera.y) * camera.scale];
    const row = x < 0 || y < 0 || x > view.width || y > view.height ? undefined : rowAt(node);
    if (row === undefined) continue;
    const isAsked = node === selected || node === marked;
    seen.push({ row, x, y, rank: isAsked ? -1 : RANK[shownStatus(row)] });
  }
  seen.sort((a, b) => a.rank - b.rank);
  context.save();
  context.font = `500 ${FONT_PX}px ${palette.font}`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  const taken = new TakenLines();
  let count = 0;
  for (const { row, x, y, rank } of seen) {
    if (count === MAX_LABELS) break;
    // A guess saves most of the measuring.
    const max = rank <= RANK.running ? MAX_WIDTH_PX : Math.max(MIN_WIDTH_PX, COLUMN_PX * camera.scale);
    const min = Math.min(max, titleOf(row).length * 4);
    if (!taken.isFree(x - min / 2, x + min / 2, y)) continue;
    const text = cut(context, titleOf(row), max);
    const width = context.measureText(text).width + 10;
    const left = Math.max(0, Math.min(view.width - width, x - width / 2));
    if (!taken.take(left, left + width, y)) continue;
    count++;
    context.beginPath();
    context.roundRect(left, y - LINE_PX / 2, width, LINE_PX, 4);
    context.globalAlpha = 0.88;
    context.fillStyle = palette.raised;
    context.fill();
    context.globalAlpha = 1;
    context.fillStyle = row.status === 'failed' ? palette.status.failed : palette.text;
    context.fillText(text, left + width / 2, y + 0.5);
  }
  context.restore();
}

/** Where words stand already, by lines of the page. */
class TakenLines {
  private readonly lines = new Map<number, { left: number; right: number; y: number }[]>();

  isFree(left: number, right: number, y: number): boolean {
    const line = Math.floor(y / LINE_PX);
    const near = [line - 1, line, line + 1].flatMap((one) => this.lines.get(one) ?? []);
    return near.every(
      (other) => Math.abs(other.y - y) >= LINE_PX || right < other.left || left > other.right,
    );
  }

  take(left: number, right: number, y: number): boolean {
    if (!this.isFree(left, right, y)) return false;
    const line = Math.floor(y / LINE_PX);
    const words = this.lines.get(line) ?? [];
    words.push({ left, right, y });
    this.lines.set(line, words);
    return true;
  }
}
