// #region main
import { defineTool, ParallelToolCoordinator } from 'volley';
import { builtinTools } from 'volley/tools';

const countWords = defineTool({
  name: 'count_words',
  description: 'Counts the words in a text.',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  isolation: 'thread',
  run: ({ text }) => ({ words: text.split(/\s+/).length }),
});

const coordinator = new ParallelToolCoordinator();
coordinator.register(countWords, builtinTools({ write: false }));

const results = await coordinator.executeParallel([
  { id: 'count', name: 'count_words', arguments: { text: { $from: 'read', path: '/content' } } },
  { id: 'read', name: 'read_file', arguments: { path: 'package.json' } },
  { id: 'secret', name: 'read_file', arguments: { path: '../secret.txt' } },
  { id: 'typo', name: 'count_words', arguments: { txt: 'one two' } },
]);
for (const result of results)
  console.log(`${result.id}: ${result.status === 'failed' ? result.error.message : result.status}`);
await coordinator.close();
// #endregion main
