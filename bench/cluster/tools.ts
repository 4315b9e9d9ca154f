import { defineTool } from '../../dist/index.js';

/** They need nothing, so that the concurrency decides, as with the peers. */
const resources = { cpu: 0, memoryMb: 0, io: 'none' } as const;
const input = { type: 'object' } as const;

export const NO_OP = defineTool({ name: 'no_op', input, idempotent: true, resources, run: async () => {} });

/** Runs until it is told to stop. It says when it starts and when it is told. */
export const HOLD = defineTool({
  name: 'hold',
  input,
  idempotent: true,
  resources,
  run: (_, { signal }) =>
    new Promise((resolve) => {
      process.send?.('started');
      signal.addEventListener('abort', () => {
        process.send?.('stopped');
        resolve(undefined);
      });
    }),
});
