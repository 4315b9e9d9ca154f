import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { folderWith, say } from './support/program.ts';

const GUIDE = readFileSync(new URL('../../docs/batch.md', import.meta.url), 'utf8');
const SOURCE = 'export const a = 1; // TODO\n';

/** The first example of a language in the chapter on files of tasks. */
function exampleIn(language: string): string {
  const chapter = GUIDE.slice(GUIDE.indexOf('## Files of tasks\n'), GUIDE.indexOf('## All commands\n'));
  return new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(chapter)![1]!;
}

describe('the guide to batches', () => {
  it.each(['json', 'jsonl', 'yaml', 'toml'])(
    'shows a file of tasks that runs: %s',
    async (language) => {
      const file = `tasks.${language}`;
      const files = { 'a.txt': 'hello', 'src/a.ts': SOURCE, 'src/b.ts': SOURCE };
      const folder = folderWith({ ...files, [file]: exampleIn(language) });
      expect(await say(folder, ['run', file])).toMatchObject({
        status: 0,
        stderr: expect.not.stringMatching(/note|error/),
      });
    },
    180_000,
  );
});
