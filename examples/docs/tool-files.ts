import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineTool, ParallelToolCoordinator } from 'volley';
import { z } from 'zod';

const project = await mkdtemp(join(tmpdir(), 'volley-example-'));
process.chdir(project);
await writeFile('notes.txt', 'water the plants');

// #region files
const shout = defineTool({
  name: 'shout',
  input: z.object({ from: z.string(), to: z.string() }),
  isolation: 'process',
  files: ({ from, to }) => ({ inputs: { files: [from] }, outputs: [to] }),
  run: async ({ from, to }) => {
    const { readFile, writeFile } = await import('node:fs/promises');
    await writeFile(to, (await readFile(from, 'utf8')).toUpperCase());
  },
});
// #endregion files

await using coordinator = new ParallelToolCoordinator();
coordinator.register(shout);
await coordinator.call(shout, { from: 'notes.txt', to: 'loud.txt' });
console.log(await readFile('loud.txt', 'utf8'));
process.chdir(tmpdir());
await rm(project, { recursive: true, force: true });
