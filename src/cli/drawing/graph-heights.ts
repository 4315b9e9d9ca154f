import type { Columns } from './graph-order.ts';

const SWEEPS = 16;

/**
 * How far down each item stands. Each would like to stand at the mean height of what it is joined with; within a column
 * the order stays, and neighbours keep their distance.
 */
export function placeHeights(
  { columns, left, right }: Columns,
  heightOf: (item: number) => number,
): number[] {
  const heights: number[] = new Array(left.length).fill(0);
  for (const column of columns) {
    let top = 0;
    for (const item of column) {
      heights[item] = top + heightOf(item) / 2;
      top += heightOf(item);
    }
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isForward = sweep % 2 === 0;
    for (let step = 0; step < columns.length; step++) {
      const column = columns[isForward ? step : columns.length - 1 - step]!;
      const wishes = column.map((item) => {
        // The last sweeps look to both sides, so that the picture is balanced.
        const side = isForward ? left[item]! : right[item]!;
        const others = sweep < SWEEPS - 4 && side.length > 0 ? side : [...left[item]!, ...right[item]!];
        if (others.length === 0) return heights[item]!;
        return others.reduce((sum, other) => sum + heights[other]!, 0) / others.length;
      });
      settle(column, wishes, heightOf, heights);
    }
  }
  return heights;
}

/**
 * The heights nearest to the wishes (in the sum of squares) that keep order and distance: neighbours that would come too
 * close are joined to a block, which stands at the mean of its wishes.
 */
function settle(
  column: readonly number[],
  wishes: readonly number[],
  heightOf: (item: number) => number,
  heights: number[],
): void {
  const blocks: { sum: number; count: number }[] = [];
  const offsets: number[] = [];
  let offset = 0;
  for (const [index, item] of column.entries()) {
    if (index > 0) offset += (heightOf(column[index - 1]!) + heightOf(item)) / 2;
    offsets.push(offset);
    let block = { sum: wishes[index]! - offset, count: 1 };
    for (
      let last = blocks.at(-1);
      last && last.sum / last.count > block.sum / block.count;
      last = blocks.at(-1)
    ) {
      block = { sum: last.sum + block.sum, count: last.count + block.count };
      blocks.pop();
    }
    blocks.push(block);
  }
  let index = 0;
  for (const { sum, count } of blocks) {
    for (let end = index + count; index < end; index++)
      heights[column[index]!] = sum / count + offsets[index]!;
  }
}
