import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatchExecutor, defaultConfig, openStore, ParallelToolCoordinator } from 'volley';
import { builtinTools } from 'volley/tools';

const folder = await mkdtemp(join(tmpdir(), 'volley-example-'));
await writeFile(join(folder, 'a.txt'), 'hello');

// #region batch
const coordinator = new ParallelToolCoordinator({ config: defaultConfig(folder) });
coordinator.register(builtinTools());
const store = await openStore(join(folder, '.volley/volley.db'));
const executor = new BatchExecutor({ coordinator, store });

await executor.handle({ action: 'add', id: 'page', function: 'read_file', params: { path: 'a.txt' } });
await executor.handle({
  action: 'add',
  function: 'write_file',
  params: { path: 'b.txt', content: '${page.content}' },
});
const { text } = await executor.handle({ action: 'start', max_concurrent: 5, wait: true });
console.log(text);
// #endregion batch

await executor.close();
await store.close();
await coordinator.close();
await rm(folder, { recursive: true });
