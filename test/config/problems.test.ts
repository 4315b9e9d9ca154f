import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { rejectionOf } from '../engine/support/errors.ts';
import { folderWith } from './support/folder.ts';
import { messageOf, problemsOf } from './support/problems.ts';

describe('a problem', () => {
  it('shows file, line, column, the line with carets, and the nearest name for a typo', async () => {
    expect(await messageOf('[limits]\nmax_concurency = 8\n')).toBe(
      `The configuration is invalid (1 problem):

volley.toml:2:1: unknown key limits.max_concurency. Did you mean max_concurrency?
  2 | max_concurency = 8
    | ^^^^^^^^^^^^^^`,
    );
  });

  it('shows the wrong value and what is valid', async () => {
    expect(await problemsOf('[limits]\n  max_concurrency = "many" # so many\n')).toEqual([
      `volley.toml:2:21: limits.max_concurrency must be a whole number from 1 to 1_000_000, but it is "many".
  2 |   max_concurrency = "many" # so many
    |                     ^^^^^^`,
    ]);
  });

  it.each([
    [
      '[limits]\nmax_concurrency = 0',
      'limits.max_concurrency must be a whole number from 1 to 1_000_000, but it is 0.',
    ],
    ['[limits]\nmax_concurrency = 1.5', 'must be a whole number from 1 to 1_000_000, but it is 1.5.'],
    ['[limits]\ncpu = inf', 'limits.cpu must be a number from 0.1 to 1_000_000, but it is inf.'],
    ['[limits]\ncpu = 2024-01-01', 'limits.cpu must be a number from 0.1 to 1_000_000, but it is a date.'],
    ['[tools.shell]\nenabled = "yes"', 'tools.shell.enabled must be true or false, but it is "yes".'],
    [
      '[tools]\ndeny = "shell"',
      'tools.deny must be a list of strings such as ["write_*", "shell"], but it is "shell".',
    ],
    [
      '[tools]\nroots = []',
      'tools.roots must be a list of strings such as [".", "../data"], not empty, but it is [].',
    ],
    ['[tools]\ndeny = [1]', 'tools.deny[0] must be a string of 1 to 1024 characters, but it is 1.'],
    ['limits = 3', 'limits must be a table, but it is 3.'],
    ['[[limits]]', 'limits must be a table, but it is [a table].'],
    ['[limits.tools]\nfetch = 3', 'limits.tools.fetch must be a table, but it is 3.'],
    ['[limits.tools.a]\nrate = 3', 'limits.tools.a.rate must be a table with count and per_ms, but it is 3.'],
    [
      '[limits.tools.a]\nrate = { count = 3 }',
      'limits.tools.a.rate.per_ms is missing: it must be a whole number',
    ],
    ['[limits.tools."a b"]', 'the name in limits.tools."a b" must be 1 to 128 letters, digits'],
    ['[limits.groups.""]', 'the name in limits.groups."" must be 1 to 256 characters.'],
    ['[defaults]\npriority = "hihg"', 'or "medium", but it is "hihg". Did you mean "high"?'],
    ['[processes]\nsandbox = "on"', 'processes.sandbox must be "auto", "required" or "off", but it is "on".'],
    ['[tools]\nallow = ["a(b"]', 'tools.allow[0] must be a well-formed glob'],
    ['[tools]\nallow = ["a b"]', 'tools.allow[0] must be a name of a tool or a glob of such names'],
    [
      '[tools.http_request]\nallow_hosts = ["https://x.org"]',
      'without scheme, port or path, but it is "https://x.org".',
    ],
    [
      '[tools.shell]\nenv = ["A=1"]',
      'must be the name of an environment variable such as "PATH", but it is "A=1".',
    ],
    ['[limts]', 'unknown key limts. Did you mean limits?'],
    ['max_concurrency = 3', 'unknown key max_concurrency. Did you mean limits.max_concurrency?'],
    ['[threads]\nwood = 1', 'unknown key threads.wood. Known in [threads]: max.'],
    ['wood = 1', 'unknown key wood. Known at the top: engine, limits, defaults, tools, threads'],
  ])('of %j reads: … %s', async (text, problem) => {
    const problems = await problemsOf(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
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
          text: 'threads.max must be a whole number from 1 to 1024, but it is 0.',
          key: 'threads.max',
          variable: undefined,
          line: 2,
          column: 7,
        },
        {
          text: 'limits.cpu must be a number from 0.1 to 1_000_000, but it is "x".',
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
    expect((error as Error).message).toContain(
      `:2:15: tools.roots[1] must be a folder, but it is "gone", and ${join(folder, 'gone')} does not exist.`,
    );
  });

  it('must be a folder', async () => {
    expect((await problemsOf('[tools]\nroots = ["volley.toml"]'))[0]).toContain(
      'volley.toml is not a folder.',
    );
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
    expect(problems[0]).toContain(`volley.toml:${place}: this is not valid TOML: `);
    expect(problems[0]).toContain(words);
  });

  it('hides no problem of the environment', async () => {
    const problems = await problemsOf('a = ', { VOLLEY_LIMITS_CPU: 'x' });
    expect(problems).toHaveLength(2);
    expect(problems[1]).toContain('VOLLEY_LIMITS_CPU: limits.cpu must be');
  });
});
