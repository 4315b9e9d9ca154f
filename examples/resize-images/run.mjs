/**
 * Resize images in bulk with a tool of your own.
 *
 * Look at: resize-image.mjs defines the tool, volley.toml names its module, and then it is called like any other.
 * `{}` is the path of each picture and `{name}` its name without the ending. The tool computes in threads, so as many
 * run at once as there are cores.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { forget, volley } from '../shared/volley.mjs';
import { encodePng } from './png.mjs';

const folder = fileURLToPath(new URL('.', import.meta.url));
mkdirSync(`${folder}/out/small`, { recursive: true });
for (let index = 1; index <= 12; index++)
  writeFileSync(`${folder}/out/rings-${index}.png`, encodePng(rings(480, 320, index)));

await forget(folder, 'thumbnails');
process.exitCode = await volley(folder, [
  'run',
  '--batch',
  'thumbnails',
  '--each',
  'out/*.png',
  '--function',
  'resize_image',
  '--params',
  '{"from":"{}","to":"out/small/{name}.png","width":120}',
  '--verbose',
]);

/** A picture to work on. */
function rings(width, height, count) {
  const pixels = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const distance = Math.hypot(x / width - 0.5, (y - height / 2) / width);
      const wave = Math.round(127 + 127 * Math.sin(distance * count * 12));
      pixels.set([wave, Math.round((255 * x) / width), Math.round((255 * y) / height)], (y * width + x) * 3);
    }
  }
  return { width, height, pixels };
}
