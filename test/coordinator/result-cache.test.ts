import { mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { defaultConfig } from '../../src/config/config.ts';
import { ParallelToolCoordinator } from '../../src/coordinator/coordinator.ts';
import { InputReader } from '../../src/coordinator/input-reader.ts';
import { CodeVersions } from '../../src/coordinator/result-cache.ts';
import { openStore } from '../../src/store/sqlite-store.ts';
import { Roots } from '../../src/tools/builtin/roots.ts';
import { defineTool, withSource } from '../../src/tools/define-tool.ts';
import type { Isolation, Tool } from '../../src/tools/tool.ts';

const { signal } = new AbortController();

function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'volley-cache-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A module that imports another one. */
function moduleFolder() {
  const folder = temporaryFolder();
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write('tool.mjs', `import { size } from './size.mjs';\nexport default () => size;\n`);
  write('size.mjs', 'export const size = 1;\n');
  const url = pathToFileURL(join(folder, 'tool.mjs')).href;
  const toolOf = (isolation: Isolation) =>
    isolation === 'inline'
      ? withSource(defineTool({ name: 'size', run: () => 1 }) as Tool, url)
      : (defineTool({ name: 'size', isolation, module: url }) as Tool);
  return { folder, write, toolOf, reader: new InputReader(new Roots([folder])) };
}

const FUTURE = Date.now() + 3_600_000;

describe('the version of a tool', () => {
  it.each(['inline', 'thread', 'process'] as const)(
    'follows its module and what that imports: %s',
    async (isolation) => {
      const { write, toolOf, reader } = moduleFolder();
      const version = () => new CodeVersions(reader, FUTURE).of(toolOf(isolation), signal);
      const first = await version();
      expect(first).toEqual(await version());
      write('size.mjs', 'export const size = 2;\n');
      const second = await version();
      expect(second).not.toBe(first);
      write('size.mjs', 'export const size = 1;\n');
      expect(await version()).toBe(first);
      // It would be found first.
      write(
        'tool.mjs',
        `import { size } from './size.mjs';\nimport('./late');\nexport default () => size;\n`,
      );
      const third = await version();
      write('late.js', '');
      expect(await version()).not.toBe(third);
    },
  );

  it('is found anew for each process, and unknown where the code in memory may be another', async () => {
    const { write, toolOf, reader } = moduleFolder();
    const versions = new CodeVersions(reader, FUTURE);
    const before = await Promise.all(
      (['inline', 'thread', 'process'] as const).map((one) => versions.of(toolOf(one), signal)),
    );
    expect(before).not.toContain(undefined);
    write('size.mjs', 'export const size = 3;\n');
    expect(await versions.of(toolOf('thread'), signal)).toBeUndefined();
    expect(await versions.of(toolOf('process'), signal)).not.toBe(before[2]);
    const begunBefore = new CodeVersions(reader, 0);
    expect(await begunBefore.of(toolOf('inline'), signal)).toBeUndefined();
    expect(await begunBefore.of(toolOf('process'), signal)).toBeDefined();
  });
});

describe('the inputs of a call', () => {
  it('are read again while a file is so new that its times prove nothing', async () => {
    const folder = temporaryFolder();
    const reader = new InputReader(new Roots([folder]));
    const file = join(folder, 'a');
    const describeIt = () => reader.describe({ files: ['a'] }, signal).then(({ content }) => content);
    const seen = new Set<string>();
    // Many of these changes have the timestamps of the one before.
    for (let round = 0; round < 50; round++) {
      writeFileSync(file, `${round}`.padStart(3, '0'));
      const now = await describeIt();
      expect(await describeIt()).toBe(now);
      seen.add(now);
    }
    expect(seen.size).toBe(50);
  });

  it.each([
    ['file', { files: ['a'] }],
    ['folder', { folders: [{ path: '.', reads: 'names' as const }] }],
  ])('show that a %s was changed and changed back', async (_, inputs) => {
    const folder = temporaryFolder();
    const reader = new InputReader(new Roots([folder]));
    writeFileSync(join(folder, 'a'), 'x');
    const before = await reader.describe(inputs, signal);
    writeFileSync(join(folder, 'a'), 'y');
    writeFileSync(join(folder, 'b'), '');
    rmSync(join(folder, 'b'));
    writeFileSync(join(folder, 'a'), 'x');
    const after = await reader.describe(inputs, signal);
    expect(after.content).toBe(before.content);
    expect(after.stamp).not.toBe(before.stamp);
  });

  it('are remembered once they are old', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'a');
    writeFileSync(file, 'x');
    utimesSync(file, new Date(0), new Date(0));
    const reader = new InputReader(new Roots([folder]));
    expect(await reader.describe({ files: ['a'] }, signal)).toEqual(
      await reader.describe({ files: ['a'] }, signal),
    );
  });
});

it('a tool that runs in a process is answered from the cache until its module changes', async () => {
  const { folder, write } = moduleFolder();
  const store = await openStore(join(folder, '.volley/volley.db'));
  const coordinator = new ParallelToolCoordinator({ config: defaultConfig(folder), cache: store });
  onTestFinished(async () => {
    await coordinator.close();
    await store.close();
  });
  const module = pathToFileURL(join(folder, 'tool.mjs'));
  coordinator.register(
    defineTool({ name: 'size', isolation: 'process', readOnly: true, cache: {}, module }) as Tool,
  );
  const size = async () => {
    const result = await coordinator.executeSingle({ name: 'size' });
    return result.status === 'completed' ? [result.value, result.cached ?? false] : result;
  };
  expect(await size()).toEqual([1, false]);
  expect(await size()).toEqual([1, true]);
  write('size.mjs', 'export const size = 2;\n');
  expect(await size()).toEqual([2, false]);
  expect(await size()).toEqual([2, true]);
});
