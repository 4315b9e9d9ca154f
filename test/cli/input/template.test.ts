import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type TaskTemplate, tasksFromTemplate } from '../../../src/cli/input/template.ts';

const FILES = [
  'README',
  'src/b.ts',
  'src/a.ts',
  'src/deep/er/c.test.ts',
  'src/.hidden.ts',
  'src/node_modules/x/index.ts',
  'node_modules/y/index.ts',
  '.git/z.ts',
  'odd/a "quote" {x}.ts',
  'odd/[id].ts',
];

function folderWithFiles(): string {
  const folder = mkdtempSync(join(tmpdir(), 'volley-template-'));
  for (const file of FILES) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), '');
  }
  symlinkSync('../src/a.ts', join(folder, 'odd/link.ts'));
  symlinkSync('..', join(folder, 'odd/loop'));
  return folder;
}
const FOLDER = folderWithFiles();

const template = (each: string[], more: Partial<TaskTemplate> = {}): TaskTemplate => ({
  each,
  function: 'f',
  params: '{"file_path":"{}"}',
  ...more,
});
const names = async (...each: string[]) =>
  (await tasksFromTemplate(template(each), FOLDER)).map(({ name }) => name);
const problem = (one: TaskTemplate) =>
  tasksFromTemplate(one, FOLDER).then(
    () => 'none',
    (error: Error & { code?: string }) => `${error.code} ${error.message.replaceAll(FOLDER, '<folder>')}`,
  );

describe('files of a template', () => {
  it('are sorted, each once, without node_modules, .git, hidden ones and folders behind links', async () => {
    expect(await names('**/*.ts', './src//a.ts', 'src/*.ts')).toEqual([
      'odd/[id].ts',
      'odd/a "quote" {x}.ts',
      'odd/link.ts',
      'src/a.ts',
      'src/b.ts',
      'src/deep/er/c.test.ts',
    ]);
  });

  it('may be in such folders where the pattern names them', async () => {
    expect(await names('node_modules/**/*.ts')).toEqual(['node_modules/y/index.ts']);
    expect(await names('src/**/node_modules/**/*.ts', '.git/*', 'src/.*.ts')).toEqual([
      '.git/z.ts',
      'src/.hidden.ts',
      'src/node_modules/x/index.ts',
    ]);
  });

  it('may be a path with signs of a glob, absolute, or above the folder', async () => {
    expect(await names('odd/[id].ts')).toEqual(['odd/[id].ts']);
    expect(await names(`${FOLDER}/src/*.ts`)).toEqual([`${FOLDER}/src/a.ts`, `${FOLDER}/src/b.ts`]);
    expect(await tasksFromTemplate(template(['../*.ts']), join(FOLDER, 'src/deep'))).toHaveLength(2);
  });

  it('are taken out again by a pattern with an exclamation mark', async () => {
    expect(await names('src/**/*.ts', '!**/*.test.ts')).toEqual(['src/a.ts', 'src/b.ts']);
    expect(await names('src/!(b|.hidden).ts')).toEqual(['src/a.ts']);
  });
});

describe('tasks of a template', () => {
  it('have the parts of the path wherever the template asks for them', async () => {
    const params =
      '{"in":"{}","out":["build/{dir}/{name}.js","{ext}"],"nr":"{index}","of":"{index}/9","raw":"{{}} }","n":1,"no":null}';
    const tasks = await tasksFromTemplate(
      template(['README', 'src/deep/**/*.ts'], {
        params,
        name: '{index}: {name}',
        shared: { priority: 'high' },
      }),
      FOLDER,
    );
    expect(tasks).toEqual([
      {
        priority: 'high',
        name: '1: README',
        function: 'f',
        params: {
          in: 'README',
          out: ['build/./README.js', ''],
          nr: 1,
          of: '1/9',
          raw: '{} }',
          n: 1,
          no: null,
        },
      },
      {
        priority: 'high',
        name: '2: c.test',
        function: 'f',
        params: {
          in: 'src/deep/er/c.test.ts',
          out: ['build/src/deep/er/c.test.js', '.ts'],
          nr: 2,
          of: '2/9',
          raw: '{} }',
          n: 1,
          no: null,
        },
      },
    ]);
  });

  it('are not broken by the name of a file', async () => {
    const [task] = await tasksFromTemplate(template(['odd/a*']), FOLDER);
    expect(task).toEqual({
      name: 'odd/a "quote" {x}.ts',
      function: 'f',
      params: { file_path: 'odd/a "quote" {x}.ts' },
    });
  });
});

const BROKEN: readonly (readonly [string, TaskTemplate])[] = [
  ['matches nothing', template(['*.zig'])],
  ['takes everything out', template(['src/*.ts', '!**'])],
  ['names a file that is not there', template(['src/none.ts'])],
  ['names a folder', template(['src/'])],
  ['only takes out', template(['!x'])],
  ['has an empty pattern', template([''])],
  ['holds NUL', template(['a\0b'])],
  ['does not name the file', template(['src/*.ts'], { params: '{"a":1}' })],
  ['has a wrong placeholder', template(['README'], { params: '{"a":{"b":["{nmae}"]}}' })],
  ['has braces of its own', template(['README'], { name: 'x {print $1}' })],
  ['has an open brace', template(['README'], { name: 'x {' })],
  ['has bad JSON', template(['README'], { params: '{"a":}' })],
  ['has no object', template(['README'], { params: '["{}"]' })],
];

describe('a template that gives no tasks', () => {
  it('is refused with a reason', async () => {
    const messages = await Promise.all(
      BROKEN.map(async ([what, template]) => `${what}\n  ${await problem(template)}\n`),
    );
    for (const message of messages) expect(message).toContain('INVALID_TEMPLATE');
    await expect(messages.join('\n')).toMatchFileSnapshot('../golden/template-errors.txt');
  });
});
