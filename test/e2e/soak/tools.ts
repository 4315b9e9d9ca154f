import { setTimeout as sleep } from 'node:timers/promises';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';

const small = { cpu: 0.02, memoryMb: 5 };

/** Tools that succeed, fail, fail at first, do not end, want more than there is, and run elsewhere. */
export const SOAK_TOOLS: readonly Tool[] = [
  defineTool<{ ms?: number; bytes?: number }>({
    name: 'good',
    idempotent: true,
    resources: small,
    run: async ({ ms = 0, bytes = 10 }, { report }) => {
      report(0.5, 'half');
      if (ms > 0) await sleep(ms);
      return { text: 'x'.repeat(bytes) };
    },
  }),
  defineTool({
    name: 'bad',
    resources: small,
    run: () => {
      throw new TypeError('it cannot be done');
    },
  }),
  defineTool({
    name: 'flaky',
    idempotent: true,
    resources: small,
    retry: { maxRetries: 3, delayMs: 5 },
    run: (_, { attempt }) => {
      if (attempt < 3) throw new Error('not yet');
      return attempt;
    },
  }),
  defineTool({
    name: 'endless',
    resources: small,
    timeoutMs: 30,
    run: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  }),
  // Two of them at once, and no more.
  defineTool({
    name: 'hungry',
    idempotent: true,
    resources: { cpu: 0.02, memoryMb: 400 },
    run: () => sleep(2),
  }),
  defineTool({
    name: 'jealous',
    idempotent: true,
    resources: { ...small, exclusive: ['the one thing'] },
    run: () => sleep(1),
  }),
  defineTool({
    name: 'threaded',
    idempotent: true,
    isolation: 'thread',
    resources: small,
    run: ({ fail = false }: { fail?: boolean }) => {
      if (fail) throw new RangeError('not in a thread either');
      return 'from a thread';
    },
  }) as Tool,
] as Tool[];
