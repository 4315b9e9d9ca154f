import { defineTool } from '../../dist/index.js';

/** They need nothing, so that the concurrency decides, as with the peers. */
const resources = { cpu: 0, memoryMb: 0, io: 'none' } as const;

/** `bytes` is the length of its result. */
export const NO_OP = defineTool({
  name: 'no_op',
  input: { type: 'object', properties: { bytes: { type: 'integer' } } },
  idempotent: true,
  resources,
  run: async (input) => {
    const { bytes } = input as { bytes?: number };
    return bytes === undefined ? undefined : 'x'.repeat(bytes);
  },
});

/** Runs until it is told to stop. */
export const HOLD = defineTool({
  name: 'hold',
  input: { type: 'object' },
  idempotent: true,
  resources,
  run: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
});
