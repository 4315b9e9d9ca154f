import { readFile, writeFile } from 'node:fs/promises';
import { defineTool } from 'volley';
import { z } from 'zod';
import { decodePng, encodePng } from './png.mjs';

/** A tool of your own. It computes, so it runs in a thread and says that it needs a core. */
export const resizeImage = defineTool({
  name: 'resize_image',
  description: 'Makes a smaller copy of a PNG picture (8 bits, RGB); the height follows from the width.',
  input: z.object({ from: z.string(), to: z.string(), width: z.int().min(1).max(10_000) }),
  isolation: 'thread',
  resources: ({ to }) => ({ cpu: 1, memoryMb: 64, io: 'medium', exclusive: [`file:${to}`] }),
  // Twice gives the same file as once: after a crash it may simply run again.
  idempotent: true,
  timeoutMs: 30_000,
  run: async ({ from, to, width }, { report }) => {
    report(0.1, 'reading');
    const picture = decodePng(await readFile(from));
    report(0.4, 'resizing');
    const small = resize(picture, width);
    report(0.8, 'writing');
    await writeFile(to, encodePng(small));
    return { to, width: small.width, height: small.height };
  },
});

/** Each new pixel is the mean of those that it covers. */
function resize(picture, width) {
  const height = Math.max(1, Math.round((picture.height * width) / picture.width));
  const pixels = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y++) {
    const [top, bottom] = covered(y, height, picture.height);
    for (let x = 0; x < width; x++) {
      const [left, right] = covered(x, width, picture.width);
      const sums = [0, 0, 0];
      for (let row = top; row < bottom; row++)
        for (let column = left; column < right; column++)
          for (let colour = 0; colour < 3; colour++)
            sums[colour] += picture.pixels[(row * picture.width + column) * 3 + colour];
      const count = (bottom - top) * (right - left);
      for (let colour = 0; colour < 3; colour++)
        pixels[(y * width + x) * 3 + colour] = Math.round(sums[colour] / count);
    }
  }
  return { width, height, pixels };
}

function covered(index, count, of) {
  const from = Math.floor((index * of) / count);
  return [from, Math.max(from + 1, Math.floor(((index + 1) * of) / count))];
}
