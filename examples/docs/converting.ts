import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultConfig, defineTool, ParallelToolCoordinator } from 'volley';
import { z } from 'zod';

const folder = await mkdtemp(join(tmpdir(), 'volley-example-'));
const files = ['a.txt', 'b.txt', 'c.txt'].map((name) => join(folder, name));
for (const [index, file] of files.entries()) await writeFile(file, 'word '.repeat(index + 1).trim());
const index = join(folder, 'index.json');
await writeFile(index, '{}');

// #region before
let total = 0;

export async function addToIndex(path: string): Promise<number> {
  const words = (await readFile(path, 'utf8')).split(/\s+/).length;
  const entries = JSON.parse(await readFile(index, 'utf8'));
  entries[path] = words;
  await writeFile(index, JSON.stringify(entries));
  total += words;
  return total;
}
// #endregion before

// #region read
const countWords = defineTool({
  name: 'count_words',
  description: 'Counts the words of a file.',
  input: z.object({ path: z.string() }),
  output: z.object({ words: z.number() }),
  readOnly: true,
  resources: ({ path }) => ({ cpu: 0.5, memoryMb: 50, io: 'medium', shared: [`file:${path}`] }),
  timeoutMs: 30_000,
  run: async ({ path }, { signal, report }) => {
    report(0, 'reading');
    const text = await readFile(path, { encoding: 'utf8', signal });
    report(0.9, 'counting');
    return { words: text.split(/\s+/).length };
  },
});
// #endregion read

// #region write
const addEntry = defineTool({
  name: 'add_entry',
  description: 'Writes an entry of the index. An entry that exists is replaced.',
  input: z.object({ index: z.string(), key: z.string(), value: z.number() }),
  idempotent: true,
  resources: ({ index }) => ({ io: 'low', exclusive: [`file:${index}`] }),
  timeoutMs: 10_000,
  run: async ({ index, key, value }) => {
    const entries = JSON.parse(await readFile(index, 'utf8'));
    await writeFile(index, JSON.stringify({ ...entries, [key]: value }));
  },
});
// #endregion write

const coordinator = new ParallelToolCoordinator({ config: defaultConfig(folder) });

// #region calls
coordinator.register(countWords, addEntry);
const calls = files.flatMap((path, number) => [
  { id: `count-${number}`, name: 'count_words', arguments: { path } },
  {
    id: `add-${number}`,
    name: 'add_entry',
    arguments: { index, key: path, value: { $from: `count-${number}`, path: '/words' } },
  },
]);
const results = await coordinator.executeParallel(calls);
// #endregion calls

const entries: Record<string, number> = JSON.parse(await readFile(index, 'utf8'));
console.log(
  results.every(({ status }) => status === 'completed'),
  Object.values(entries).sort(),
);

// #region test
const reads = files.map((path) => ({ name: 'count_words', arguments: { path } }));
const twice = [...reads, ...reads, ...calls];
const again = await coordinator.executeParallel(twice, { maxConcurrency: twice.length });
console.log(again.filter(({ status }) => status !== 'completed'));
console.log(Object.keys(JSON.parse(await readFile(index, 'utf8'))).length);
// #endregion test

await coordinator.close();
await rm(folder, { recursive: true });
