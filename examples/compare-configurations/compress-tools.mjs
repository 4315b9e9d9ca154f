import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineTool } from 'volley';
import { z } from 'zod';

export const compress = defineTool({
  name: 'compress',
  description: 'Compresses a log of two megabytes, and says how small it became and how long that took.',
  input: z.object({ method: z.enum(['gzip', 'brotli']), level: z.int().min(1).max(9) }),
  readOnly: true,
  isolation: 'thread',
  resources: { cpu: 1, memoryMb: 100 },
  run: ({ method, level }) => {
    const log = logText(40_000);
    const start = performance.now();
    const { length } =
      method === 'gzip'
        ? gzipSync(log, { level })
        : brotliCompressSync(log, { params: { [constants.BROTLI_PARAM_QUALITY]: level } });
    return {
      name: `${method} ${level}`,
      bytes: length,
      percent: Number(((100 * length) / log.length).toFixed(1)),
      ms: Math.round(performance.now() - start),
    };
  },
});

export const compare = defineTool({
  name: 'compare',
  description: 'Which configuration is the smallest, and which the fastest.',
  input: z.object({
    runs: z
      .array(z.object({ name: z.string(), bytes: z.number(), percent: z.number(), ms: z.number() }))
      .min(1),
  }),
  readOnly: true,
  run: ({ runs }) => {
    const bySize = [...runs].sort((a, b) => a.bytes - b.bytes);
    const byTime = [...runs].sort((a, b) => a.ms - b.ms);
    return {
      smallest: bySize[0].name,
      fastest: byTime[0].name,
      table: bySize.map(({ name, percent, ms }) => `${name}: ${percent}% in ${ms} ms`),
    };
  },
});

/** The same text every time: what differs is the configuration. */
function logText(lines) {
  let seed = 7;
  const random = (below) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  const line = (_, index) =>
    `${1_700_000_000 + index} GET /items/${random(500)} ${random(10) ? 200 : 404} ${random(90)}ms`;
  return Array.from({ length: lines }, line).join('\n');
}
