import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { rejectionOf } from '../engine/support/errors.ts';
import { folderWith } from './support/folder.ts';
import { messageOf, problemsOf } from './support/problems.ts';

/** Files with one problem each. The texts are in golden/problems.txt. */
const INVALID = [
  '[limits]\n  max_concurrency = "many" # so many\n',
  '[limits]\nmax_concurrency = 0',
  '[limits]\nmax_concurrency = 1.5',
  '[limits]\ncpu = inf',
  '[limits]\ncpu = 2024-01-01',
  '[tools.shell]\nenabled = "yes"',
  '[tools]\ndeny = "shell"',
  '[tools]\nroots = []',
  '[tools]\ndeny = [1]',
  'limits = 3',
  '[[limits]]',
  '[limits.tools]\nfetch = 3',
  '[limits.tools.a]\nrate = 3',
  '[limits.tools.a]\nrate = { count = 3 }',
  '[limits.tools."a b"]',
  '[limits.groups.""]',
  '[limits.resources]\nGPU = 1',
  '[limits.resources]\nmemory_mb = 100',
  '[limits.resources]\ngpu = -1',
  '[limits.resources]\ngpu = "two"',
  '[limits.resources]\ngpu = 1\n[mcp.servers.a]\nurl = "http://localhost"\ntools.b.resources = { gpus = 1 }',
  '[mcp.servers.a]\nurl = "http://localhost"\ntools.b.resources.license = 1',
  '[defaults]\npriority = "hihg"',
  '[processes]\nsandbox = "on"',
  '[tools]\nallow = ["a(b"]',
  '[tools]\nallow = ["a b"]',
  '[tools.http_request]\nallow_hosts = ["https://x.org"]',
  '[tools.shell]\nenv = ["A=1"]',
  '[limts]',
  'max_concurrency = 3',
  '[threads]\nwood = 1',
  'wood = 1',
];

describe('a problem', () => {
  it('shows file, line, column, the line with carets, and the nearest name for a typo', async () => {
    const message = await messageOf('[limits]\nmax_concurency = 8\n');
    expect(message).toContain('volley.toml:2:1: ');
    expect(message).toContain('limits.max_concurency');
    expect(message).toContain('\n  2 | max_concurency = 8\n    | ^^^^^^^^^^^^^^');
  });

  it.each([
    'postgres://team:secret@db/team',
    'postgres://team:se/cret@db/team',
    'postgres://team:12/cret@db/team',
    'postgres://db/team?user=team&password=secret&schema=a',
    'redis://:secret@db',
  ])('never shows the password of an address: %s', async (address) => {
    const message = await messageOf(`[store]\nurl = ${JSON.stringify(address)}\n`);
    expect(message).toContain('store.url');
    expect(message).not.toContain('cret');
    expect(message).toContain('\n    |       ^');
  });

  it('is one for each invalid value and unknown key', async () => {
    const texts: string[] = [];
    for (const text of INVALID) {
      const problems = await problemsOf(text);
      expect({ text, count: problems.length }).toEqual({ text, count: 1 });
      texts.push(problems[0]!);
    }
    await expect(texts.join('\n\n')).toMatchFileSnapshot('golden/problems.txt');
  });

  it('is found with every other, in the order of the file', async () => {
    const text = '[threads]\nmax = 0\nmin = 1\n[limts]\n[limits]\ncpu = true\n[tools]\nroots = ["no"]\n';
    const places = (await problemsOf(text)).map((problem) => /^volley.toml:[\d:]+/.exec(problem)?.[0]);
    expect(places).toEqual([
      'volley.toml:2:7:',
      'volley.toml:3:1:',
      'volley.toml:4:2:',
      'volley.toml:6:7:',
      'volley.toml:8:10:',
    ]);
  });

  it('is one of twenty that are shown, and the rest is counted', async () => {
    const message = await messageOf(Array.from({ length: 25 }, (_, index) => `x${index} = 1`).join('\n'));
    expect(message).toContain('(25 problems)');
    expect(message).toContain('volley.toml:20:1:');
    expect(message).not.toContain('volley.toml:21:1:');
    expect(message).toMatch(/… and 5 more\.$/);
  });

  it('is there as data too', async () => {
    const folder = folderWith({ 'volley.toml': '[threads]\nmax = 0' });
    const env = { VOLLEY_LIMITS_CPU: 'x' };
    const error = (await rejectionOf(loadConfig({ cwd: folder, env }))) as { details: unknown };
    expect(error.details).toEqual({
      file: join(folder, 'volley.toml'),
      problems: [
        {
          text: expect.any(String),
          key: 'threads.max',
          variable: undefined,
          line: 2,
          column: 7,
        },
        {
          text: expect.any(String),
          key: 'limits.cpu',
          variable: 'VOLLEY_LIMITS_CPU',
          line: undefined,
          column: undefined,
        },
      ],
    });
  });

  it('in a long line is shown with what stands around it, and a tab takes one place', async () => {
    const [problem] = await problemsOf(`[tools]\n\tdeny = [${'"ok",\t'.repeat(100)} "a(b"]`);
    const [, line, carets] = problem!.split('\n');
    expect(line!.length).toBeLessThan(140);
    expect(line!.slice(carets!.indexOf('^'), carets!.lastIndexOf('^') + 1)).toBe('"a(b"');
  });
});

describe('a folder of tools.roots', () => {
  it('must exist, from the folder of the file', async () => {
    const folder = folderWith({ 'volley.toml': '[tools]\nroots = [".", "gone"]' });
    const error = await rejectionOf(loadConfig({ cwd: folder, env: {} }));
    expect((error as Error).message).toContain(':2:15: tools.roots[1]');
  });

  it('must be a folder', async () => {
    expect((await problemsOf('[tools]\nroots = ["volley.toml"]'))[0]).toContain('tools.roots[0]');
  });
});

describe('a mistake in the syntax', () => {
  it.each([
    ['a = 1\nb = = 2', '2:5', 'invalid value'],
    ['[limits]\ncpu = 1\ncpu = 2', '3:1', 'redefine'],
    ['[limits]\n[threads]\n[limits]', '3:2', 'redefine'],
    ['[limits\ncpu = 1', '1:8', ''],
    ['[limits]\ncpu = 99999999999999999999', '2:7', 'losslessly'],
    ['x = { a = 1, a = 2 }', '1:14', 'redefine'],
  ])('in %j is shown at %s', async (text, place, words) => {
    const problems = await problemsOf(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`volley.toml:${place}: `);
    expect(problems[0]).toContain(words);
  });

  it('hides no problem of the environment', async () => {
    const problems = await problemsOf('a = ', { VOLLEY_LIMITS_CPU: 'x' });
    expect(problems).toHaveLength(2);
    expect(problems[1]).toContain('VOLLEY_LIMITS_CPU: limits.cpu');
  });
});
