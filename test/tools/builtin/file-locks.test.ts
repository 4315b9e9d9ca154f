import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ResourceRequirements } from '../../../src/core/demand.ts';
import { ResourceManager } from '../../../src/index.ts';
import { listDirectoryTool } from '../../../src/tools/builtin/list-directory.ts';
import { readFileTool } from '../../../src/tools/builtin/read-file.ts';
import { searchFilesTool } from '../../../src/tools/builtin/search-files.ts';
import { writeFileTool } from '../../../src/tools/builtin/write-file.ts';
import { environment, folder } from './support/file-tools.ts';

function needs<I>(
  tool: { resources: ResourceRequirements | ((input: I) => ResourceRequirements) | undefined },
  input: unknown,
): ResourceRequirements {
  return typeof tool.resources === 'function' ? tool.resources(input as I) : (tool.resources ?? {});
}

function world() {
  const root = folder();
  mkdirSync(join(root, 'sub'));
  writeFileSync(join(root, 'sub', 'a.txt'), '');
  symlinkSync('sub', join(root, 'link'));
  symlinkSync('sub/a.txt', join(root, 'link.txt'));
  const settings = environment([root]);
  const [readTool, writeTool] = [readFileTool(settings), writeFileTool(settings)];
  const forms = [
    'sub/a.txt',
    './sub/a.txt',
    'sub//a.txt',
    'link/../sub/a.txt',
    'link/a.txt',
    'link.txt',
    join(root, 'sub/a.txt'),
  ];
  return {
    root,
    forms,
    settings,
    read: (path: string) => needs(readTool, { path }),
    write: (path: string) => needs(writeTool, { path, content: 'x' }),
  };
}

describe('the locks of the file tools', () => {
  it('keep two writes to one file apart, however its path is written', () => {
    const { forms, write } = world();
    for (const first of forms) {
      for (const second of forms) {
        const manager = new ResourceManager();
        expect(manager.tryAllocate('first', write(first)).granted).toBe(true);
        expect(manager.tryAllocate('second', write(second)).granted).toBe(false);
      }
    }
  });

  it('keep a read and a write of one file apart, but not two reads', () => {
    const { forms, read, write } = world();
    for (const form of forms) {
      const manager = new ResourceManager();
      expect(manager.tryAllocate('reader', read('sub/a.txt')).granted).toBe(true);
      expect(manager.tryAllocate('another', read(form)).granted).toBe(true);
      expect(manager.tryAllocate('writer', write(form)).granted).toBe(false);
    }
  });

  it('hold for a file and folders that do not exist yet', () => {
    const { write } = world();
    const manager = new ResourceManager();
    expect(manager.tryAllocate('first', write('link/new/b.txt')).granted).toBe(true);
    expect(manager.tryAllocate('second', write('sub/new/b.txt')).granted).toBe(false);
    expect(manager.tryAllocate('other', write('sub/new/c.txt')).granted).toBe(true);
  });

  it('are not taken by listings and searches, which never see a part of a file', () => {
    const { settings } = world();
    const list = needs(listDirectoryTool(settings), { path: '.', recursive: true });
    const search = needs(searchFilesTool(settings), { path: '.', text: 'x' });
    expect([list, search].map(({ shared, exclusive }) => [shared, exclusive])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  it('are asked for without an error where the path itself will be refused', () => {
    const { read, write } = world();
    for (const path of ['../x', '/etc/passwd', 'a\0b', 'x'.repeat(5000), 'sub/a.txt/b']) {
      expect(read(path).shared).toHaveLength(1);
      expect(write(path).exclusive).toHaveLength(1);
    }
  });

  it('come with needs that grow with what is held in memory', () => {
    const settings = environment([folder()], { files: { maxBytes: 100 * 2 ** 20 } });
    expect(needs(readFileTool(settings), { path: 'a' }).memoryMb).toBe(401);
    expect(needs(readFileTool(settings), { path: 'a', length: 1000 }).memoryMb).toBe(2);
  });

  it('belong to tools that say truly what they change', () => {
    const settings = environment([folder()]);
    const flags = [readFileTool, listDirectoryTool, searchFilesTool, writeFileTool].map((make) => {
      const { name, readOnly, idempotent, dedupe } = make(settings);
      return [name, readOnly, idempotent, dedupe];
    });
    expect(flags).toEqual([
      ['read_file', true, true, true],
      ['list_directory', true, true, true],
      ['search_files', true, true, true],
      ['write_file', false, true, false],
    ]);
  });
});
