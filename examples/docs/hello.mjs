// #region main
import { defineTool, ParallelToolCoordinator } from 'volley';

const countWords = defineTool({
  name: 'count_words',
  description: 'Counts the words of a text.',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  readOnly: true,
  isolation: 'thread',
  timeoutMs: 10_000,
  run: ({ text }) => ({ words: text.split(/\s+/).length }),
});

const coordinator = new ParallelToolCoordinator();
coordinator.register(countWords);
try {
  const results = await coordinator.executeParallel([
    { id: 'count', name: 'count_words', arguments: { text: { $from: 'read', path: '/content' } } },
    { id: 'read', name: 'read_file', arguments: { path: 'package.json' } },
    { id: 'secret', name: 'read_file', arguments: { path: '../secret.txt' } },
    { id: 'typo', name: 'count_words', arguments: { txt: 'one two' } },
  ]);
  for (const { id, status, error } of results) console.log(`${id}: ${error?.message ?? status}`);
} finally {
  await coordinator.close();
}
// #endregion main
