import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineTool, openStore, ParallelToolCoordinator } from 'volley';
import { z } from 'zod';

const project = await mkdtemp(join(tmpdir(), 'volley-example-'));
process.chdir(project);
await mkdir('notes');
await writeFile('notes/a.txt', 'TODO: water the plants');
const store = await openStore('.volley/volley.db');
let runs = 0;

// #region cache
const countTodos = defineTool({
  name: 'count_todos',
  input: z.object({ folder: z.string() }),
  readOnly: true,
  cache: ({ folder }) => ({ folders: [{ path: folder, glob: '*.txt' }], files: ['todo.json'] }),
  run: async ({ folder }) => {
    runs++;
    const names = (await readdir(folder)).filter((name) => name.endsWith('.txt'));
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
    return texts.join('\n').match(/TODO/g)?.length ?? 0;
  },
});
// #endregion cache

// #region list
const coordinator = new ParallelToolCoordinator({ cache: store });
coordinator.register(countTodos);
const call = { name: 'count_todos', arguments: { folder: 'notes' } };
const first = await coordinator.executeSingle(call);
const second = await coordinator.executeSingle(call);
// #endregion list

if (first.cached || !second.cached || runs !== 1)
  throw new Error('The second result must come from the cache.');
await coordinator.close();
await store.close();
process.chdir('/');
await rm(project, { recursive: true });
