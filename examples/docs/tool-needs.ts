import { defineTool, ParallelToolCoordinator, ToolFailure } from 'volley';
import { z } from 'zod';

const uploaded: string[] = [];

// #region needs
const upload = defineTool({
  name: 'upload',
  input: z.object({ bucket: z.string(), file: z.string() }),
  // What it needs may follow from the input: one upload to a bucket at a time.
  resources: ({ bucket }) => ({ cpu: 0.1, memoryMb: 64, network: true, exclusive: [`bucket:${bucket}`] }),
  conflictsWith: ['backup'],
  idempotent: true,
  retry: { maxRetries: 3, delayMs: 500 },
  stallMs: 30_000,
  run: async ({ bucket, file }, { report, signal, attempt }) => {
    for (let part = 1; part <= 4; part++) {
      signal.throwIfAborted();
      report(part / 4, `part ${part} of 4`);
    }
    if (bucket === 'closed') throw new ToolFailure('The bucket is closed', { retryable: false });
    if (attempt === 1) throw new Error('503');
    uploaded.push(file);
    return { url: `https://${bucket}.example.com/${file}` };
  },
});
// #endregion needs

const coordinator = new ParallelToolCoordinator();
coordinator.register(upload);

// #region stream
const calls = [
  { id: 'cat', name: 'upload', arguments: { bucket: 'pictures', file: 'cat.png' }, retry: { delayMs: 50 } },
  { id: 'dog', name: 'upload', arguments: { bucket: 'closed', file: 'dog.png' }, priority: 'high' as const },
];
for await (const result of coordinator.stream(calls)) {
  console.log(result.id, result.status, `after ${result.attempts} attempts`);
}
// #endregion stream

await coordinator.close();
