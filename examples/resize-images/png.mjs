/** Just enough of PNG for the example: 8 bits, RGB, not interlaced. */

import { deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const RGB = 2;

export function encodePng({ width, height, pixels }) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, RGB], 8);
  // Each row begins with its filter: 0, none.
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y++)
    pixels.copy(rows, y * (1 + width * 3) + 1, y * width * 3, (y + 1) * width * 3);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

export function decodePng(file) {
  if (!file.subarray(0, 8).equals(SIGNATURE)) throw new Error('This is not a PNG picture.');
  const parts = [];
  let header;
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at);
    const type = file.toString('latin1', at + 4, at + 8);
    const data = file.subarray(at + 8, at + 8 + length);
    if (type === 'IHDR') header = data;
    if (type === 'IDAT') parts.push(data);
    at += length + 12;
  }
  if (header?.[8] !== 8 || header[9] !== RGB || header[12] !== 0)
    throw new Error('Only PNG pictures with 8 bits, RGB and no interlacing can be read.');
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  return { width, height, pixels: unfiltered(inflateSync(Buffer.concat(parts)), width, height) };
}

/** A row is stored as the difference to what its filter guesses from the bytes to the left and above. */
function unfiltered(rows, width, height) {
  const size = width * 3;
  const pixels = Buffer.alloc(height * size);
  for (let y = 0; y < height; y++) {
    const filter = rows[y * (size + 1)];
    for (let x = 0; x < size; x++) {
      const at = y * size + x;
      const left = x < 3 ? 0 : pixels[at - 3];
      const above = y === 0 ? 0 : pixels[at - size];
      const corner = x < 3 || y === 0 ? 0 : pixels[at - size - 3];
      const guess = [0, left, above, (left + above) >> 1, nearest(left, above, corner)][filter];
      pixels[at] = rows[y * (size + 1) + 1 + x] + guess;
    }
  }
  return pixels;
}

function nearest(left, above, corner) {
  const guess = left + above - corner;
  const [a, b, c] = [left, above, corner].map((value) => Math.abs(guess - value));
  return a <= b && a <= c ? left : b <= c ? above : corner;
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
