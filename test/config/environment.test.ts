import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { tablesOf } from '../../src/config/outline.ts';
import { folderWith } from './support/folder.ts';
import { problemsOf } from './support/problems.ts';

const load = async (env: Record<string, string>, text?: string) =>
  (await loadConfig({ cwd: folderWith(text === undefined ? {} : { 'volley.toml': text }), env })).config;

describe('a variable', () => {
  it('goes before the file, and needs none', async () => {
    const env = { VOLLEY_LIMITS_MAX_CONCURRENCY: '8' };
    expect((await load(env)).limits.maxConcurrency).toBe(8);
    const { limits } = await load(env, '[limits]\nmax_concurrency = 3\ncpu = 1.5');
    expect(limits).toMatchObject({ maxConcurrency: 8, limits: { cpu: 1.5 } });
  });

  it('can be a number, a flag, a choice or a list', async () => {
    const config = await load({
      VOLLEY_LIMITS_CPU: ' 0.5 ',
      VOLLEY_LIMITS_MEMORY_MB: '8_000',
      VOLLEY_TOOLS_SHELL_ENABLED: 'TRUE',
      VOLLEY_TOOLS_HTTP_REQUEST_ENABLED: '1',
      VOLLEY_TOOLS_HTTP_REQUEST_ALLOW_PRIVATE: 'false',
      VOLLEY_DEFAULTS_PRIORITY: 'low',
      VOLLEY_DEFAULTS_RETRY_MAX_RETRIES: '2',
      VOLLEY_TOOLS_DENY: 'shell, write_*',
      VOLLEY_TOOLS_ALLOW: '["a*", "{b,c}"]',
      VOLLEY_SECRETS_NAMES: '[]',
    });
    expect(config.limits.limits).toMatchObject({ cpu: 0.5, memoryMb: 8000 });
    expect(config.shell.enabled).toBe(true);
    expect(config.http).toMatchObject({ enabled: true, allowPrivate: false });
    expect(config.defaults).toMatchObject({ priority: 'low', retry: { maxRetries: 2 } });
    expect(config.tools).toMatchObject({ deny: ['shell', 'write_*'], allow: ['a*', '{b,c}'] });
    expect(config.secrets.names).toEqual([]);
  });

  it('that is empty is one that is not set', async () => {
    const config = await load({ VOLLEY_THREADS_MAX: '', VOLLEY_TOOLS_DENY: '' }, '[threads]\nmax = 3');
    expect(config.threads.max).toBe(3);
  });

  it('can name a tool or a group: as in the file, or in small letters', async () => {
    const { limits } = await load(
      {
        VOLLEY_LIMITS_TOOLS_FETCH_PAGE_MAX_CONCURRENCY: '2',
        VOLLEY_LIMITS_TOOLS_NEW_ONE_MAX_CONCURRENCY: '3',
        VOLLEY_LIMITS_TOOLS_RATE_COUNT_RATE_COUNT: '4',
        VOLLEY_LIMITS_TOOLS_RATE_COUNT_RATE_PER_MS: '5',
        VOLLEY_LIMITS_GROUPS___PROTO___MAX_CONCURRENCY: '6',
      },
      '[limits.tools."Fetch.Page"]\nrate = { count = 1, per_ms = 9 }',
    );
    expect(limits.tools).toEqual({
      'Fetch.Page': { maxConcurrency: 2, rate: { count: 1, perMs: 9 } },
      new_one: { maxConcurrency: 3 },
      rate_count: { rate: { count: 4, perMs: 5 } },
    });
    expect({}).not.toHaveProperty('max_concurrency');
  });

  it('is named by a problem, in place of a line', async () => {
    const env = {
      VOLLEY_LIMITS_TOOLS_GREP_RATE_COUNT: '3',
      VOLLEY_THREADS_MAX: 'many',
      VOLLEY_TOOLS_DENY: '["a", 2]',
      VOLLEY_TOOLS_ALLOW: '["a"',
      VOLLEY_TOOLS_ROOTS: '.,gone/away',
    };
    const problems = await problemsOf('[threads]\nmax = 2\n[processes]\nsandbox = 3', env);
    expect(problems).toEqual([
      expect.stringContaining('volley.toml:4:11: processes.sandbox '),
      expect.stringContaining('VOLLEY_LIMITS_TOOLS_GREP_RATE_COUNT: limits.tools.grep.rate.per_ms '),
      expect.stringContaining('VOLLEY_THREADS_MAX: threads.max '),
      expect.stringContaining('VOLLEY_TOOLS_ALLOW: tools.allow '),
      expect.stringContaining('VOLLEY_TOOLS_DENY: tools.deny[1] '),
      expect.stringContaining('VOLLEY_TOOLS_ROOTS: tools.roots[1] '),
    ]);
  });

  it('that is nearly a setting, or below a section, is a problem with the nearest name', async () => {
    expect(
      await problemsOf(undefined, {
        VOLLEY_LIMITS_CPUS: '2',
        VOLLEY_LIMTS_MAX_CONCURRENCY: '2',
        VOLLEY_TOOLS_SOMETHING_ELSE: '2',
      }),
    ).toEqual([
      expect.stringMatching(/^VOLLEY_LIMITS_CPUS: .* VOLLEY_LIMITS_CPU\?$/),
      expect.stringMatching(/^VOLLEY_LIMTS_MAX_CONCURRENCY: .* VOLLEY_LIMITS_MAX_CONCURRENCY\?$/),
      expect.stringMatching(/^VOLLEY_TOOLS_SOMETHING_ELSE: .*VOLLEY_TOOLS_ROOTS/),
    ]);
  });

  it('of somebody else is left alone', async () => {
    const env = {
      VOLLEY_TOKEN: 'x',
      VOLLEY_URL: 'http://x',
      VOLLEY: '1',
      MY_VOLLEY_LIMITS_CPUS: '1',
      PATH: '/',
    };
    expect((await load(env)).limits.maxConcurrency).toBe(64);
  });

  it('does not hide that the file has no table in its place', async () => {
    const problems = await problemsOf('limits = 3', { VOLLEY_LIMITS_CPU: '2' });
    expect(problems).toEqual([expect.stringContaining('volley.toml:1:10: limits ')]);
  });
});

describe('the names of the variables', () => {
  const variables = tablesOf().flatMap(({ keys }) => keys.map(({ variable }) => variable));

  it('follow from the tables and keys', () => {
    expect(variables).toContain('VOLLEY_TOOLS_HTTP_REQUEST_ALLOW_HOSTS');
    expect(variables).toContain('VOLLEY_LIMITS_GROUPS_<NAME>_RATE_PER_MS');
  });

  it('are different for every key, whatever names are chosen', () => {
    expect(new Set(variables).size).toBe(variables.length);
    const chosen = variables
      .filter((name) => name.includes('<NAME>'))
      .map((name) => name.split('<NAME>')[0]!);
    const fixed = variables.filter((name) => !name.includes('<NAME>'));
    expect(fixed.filter((name) => chosen.some((start) => name.startsWith(start)))).toEqual([]);
  });
});
