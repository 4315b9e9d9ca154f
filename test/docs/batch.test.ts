import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BatchExecutor } from '../../src/batch/batch-executor.ts';
import { parseTaskFile } from '../../src/cli/input/task-file.ts';
import { defaultConfig } from '../../src/config/default-config.ts';
import { ParallelToolCoordinator } from '../../src/coordinator/coordinator.ts';
import { openStore } from '../../src/store/sqlite-store.ts';
import { pages } from './markdown.ts';

const FORMATS = ['json', 'jsonl', 'yaml', 'toml'];
const blocks = pages()
  .find(({ path }) => path === 'docs/batch.md')!
  .codeBlocks.filter(({ language }) => FORMATS.includes(language));

describe('a file of tasks in the guide to batches', () => {
  it('is there in every format', () => {
    expect(new Set(blocks.map(({ language }) => language))).toEqual(new Set(FORMATS));
  });

  it.each(blocks)('is accepted as it stands: $where', async ({ language, text }) => {
    const folder = await mkdtemp(join(tmpdir(), 'volley-guide-'));
    const coordinator = new ParallelToolCoordinator({ config: defaultConfig(folder) });
    const store = await openStore(join(folder, 'volley.db'));
    const executor = new BatchExecutor({ coordinator, store });
    onTestFinished(async () => {
      await executor.close();
      await store.close();
      await coordinator.close();
      await rm(folder, { recursive: true });
    });
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
