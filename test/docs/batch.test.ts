import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BatchExecutor } from '../../src/batch/executor/batch-executor.ts';
import { parseTaskFile } from '../../src/cli/input/task-file.ts';
import { defaultConfig } from '../../src/config/config.ts';
import { ParallelToolCoordinator } from '../../src/coordinator/coordinator.ts';
import { openStore } from '../../src/store/sqlite-store.ts';
import { builtinTools } from '../../src/tools/builtin/all.ts';
import { pages } from './markdown.ts';

const FORMATS = ['json', 'jsonl', 'yaml', 'toml'];
const blocksOf = (page: string) => pages().find(({ path }) => path === page)!.codeBlocks;
const blocks = blocksOf('docs/batch.md').filter(({ language }) => FORMATS.includes(language));
const forAgents = blocksOf('docs/agents.md').filter(({ text }) => text.includes('"tasks"'));

async function executorIn(folder: string): Promise<BatchExecutor> {
  const coordinator = new ParallelToolCoordinator({ config: defaultConfig(folder) });
  coordinator.register(builtinTools());
  const store = await openStore(join(folder, 'volley.db'));
  const executor = new BatchExecutor({ coordinator, store });
  onTestFinished(async () => {
    await executor.close();
    await store.close();
    await coordinator.close();
    await rm(folder, { recursive: true });
  });
  return executor;
}

describe('a file of tasks in the guide to batches', () => {
  it('is there in every format', () => {
    expect(new Set(blocks.map(({ language }) => language))).toEqual(new Set(FORMATS));
  });

  it.each(blocks)('is accepted as it stands: $where', async ({ language, text }) => {
    const executor = await executorIn(await mkdtemp(join(tmpdir(), 'volley-guide-')));
    const { tasks, settings } = parseTaskFile({ name: `tasks.${language}`, text });
    const { max_concurrent, timeout, fail_fast, ...others } = settings;
    expect(Object.keys(others).filter((key) => !['batch', 'action'].includes(key))).toEqual([]);
    const start = {
      ...(max_concurrent !== undefined && { max_concurrent }),
      ...(timeout !== undefined && { timeout }),
    };
    expect(await executor.handle({ action: 'add_batch', tasks })).toMatchObject({ ok: true });
    // What is missing here are only the files that the tasks are about.
    expect(await executor.handle({ action: 'start', wait: true, ...start })).toMatchObject({ ok: true });
  });
});

describe('a program in the guide to batches', () => {
  const programs = blocksOf('docs/batch.md').filter(({ language }) => language === 'mjs');

  it('returns what the guide says', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'volley-guide-'));
    const executor = await executorIn(folder);
    await mkdir(join(folder, 'notes'));
    await writeFile(join(folder, 'notes/a.md'), 'State: open\n');
    await writeFile(join(folder, 'notes/b.md'), 'State: done\n');
    expect(programs).toHaveLength(1);
    const { tasks } = parseTaskFile({ name: 'open-notes.mjs', text: programs[0]!.text });
    await executor.handle({ action: 'add_batch', tasks });
    const { data } = await executor.handle({ action: 'start', wait: true });
    expect(data).toMatchObject({ returned: ['notes/a.md'] });
  });
});

describe('the example of tasks that compute', () => {
  it('returns the notes that are open', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'volley-guide-'));
    const executor = await executorIn(folder);
    await mkdir(join(folder, 'notes'));
    for (const [name, text] of Object.entries({ a: 'done', b: 'still open', c: 'open, too' }))
      await writeFile(join(folder, 'notes', name), text);
    const { text } = blocks.find((block) => block.text.includes('"return"'))!;
    const { tasks } = parseTaskFile({ name: 'tasks.json', text });
    await executor.handle({ action: 'add_batch', tasks });
    expect(await executor.handle({ action: 'start', wait: true })).toMatchObject({
      data: { succeeded: true, returned: ['notes/b', 'notes/c'] },
    });
  });
});

describe('the example for agents', () => {
  it('completes, and makes a file of what it has read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'volley-guide-'));
    const executor = await executorIn(folder);
    await mkdir(join(folder, 'src'));
    await writeFile(join(folder, 'src/a.ts'), '// TODO\n');
    await writeFile(join(folder, 'CHANGELOG.md'), '# Changes\n');
    expect(forAgents).toHaveLength(1);
    const { tasks } = parseTaskFile({ name: 'tasks.json', text: forAgents[0]!.text });
    await executor.handle({ action: 'add_batch', tasks });
    expect(await executor.handle({ action: 'start', wait: true })).toMatchObject({
      data: { counts: { completed: 4, failed: 0 } },
    });
    expect(await readFile(join(folder, 'note.md'), 'utf8')).toBe('First of src: src/a.ts\n\n# Changes\n');
  });
});
