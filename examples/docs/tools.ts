// #region define
import { defineTool, ParallelToolCoordinator } from 'volley';
import { builtinTools } from 'volley/tools';
import { z } from 'zod';

const countWords = defineTool({
  name: 'count_words',
  description: 'Counts the words of a text.',
  input: z.object({ text: z.string() }),
  readOnly: true,
  isolation: 'thread',
  resources: { cpu: 1, memoryMb: 50 },
  timeoutMs: 10_000,
  run: ({ text }, { report }) => {
    report('counting');
    return { words: text.split(/\s+/).length };
  },
});
// #endregion define

// #region call
await using coordinator = new ParallelToolCoordinator();
coordinator.register(countWords, builtinTools({ write: false }));

const results = await coordinator.executeParallel([
  { id: 'count', name: 'count_words', arguments: { text: { $from: 'license', path: '/content' } } },
  { id: 'license', name: 'read_file', arguments: { path: 'LICENSE' } },
  { id: 'secret', name: 'read_file', arguments: { path: '../secret.txt' } },
  { id: 'typo', name: 'count_words', arguments: { txt: 'one two' } },
]);

for (const result of results) {
  const text = result.status === 'failed' ? result.error.message : '';
  console.log(`${result.id.padEnd(7)} ${result.status.padEnd(9)} ${text}`.trimEnd());
}
// #endregion call

// #region typed
const counted = await coordinator.call(countWords, { text: 'one two three' });
if (counted.status === 'completed') console.log(counted.value.words + 1);
// #endregion typed
