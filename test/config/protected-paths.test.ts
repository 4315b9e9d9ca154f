import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { defaultConfig } from '../../src/config/config.ts';
import { PROTECTED_RULES, ProtectedPaths } from '../../src/config/protected-paths.ts';

const config = defaultConfig('/project');
const tools = new ProtectedPaths(config);
const agents = new ProtectedPaths(config, 'agents');

describe('protected paths', () => {
  it.each([
    '.GIT/config',
    'a/.Git/hooks/x',
    '.git./config',
    '.git /config',
    '.git::$INDEX_ALLOCATION/config',
    '.g\u200cit/config',
    'GIT~1/config',
    'VOLLEY~1.TOM',
    'Volley.TOML',
    'NODE_MODULES/a',
    '.tmp/TASKS/x/task.json',
  ])('are known in every spelling: %s', (path) => {
    expect(tools.protects(`/project/${path}`)).toBeDefined();
  });

  it.each(['.gitignore', '.github/CODEOWNERS', 'volley.tomlx', '.claudette', 'node_modules.md', '.tmp/x'])(
    'are no others: %s',
    (path) => {
      expect(tools.protects(`/project/${path}`)).toBeUndefined();
    },
  );

  it.each([
    ['.git', true],
    ['.git/hooks/pre-commit', true],
    ['.git/config', true],
    ['.git/info/attributes', true],
    ['.git/worktrees/one/commondir', true],
    ['.git/modules/one/config', true],
    ['.claude/settings.json', true],
    ['.volley/volley.db', true],
    ['.git/index', false],
    ['.git/refs/heads/main', false],
    ['.git/worktrees/one/index', false],
    ['node_modules/a/index.js', false],
  ])('are fewer for coding agents, which commit and install: %s', (path, isProtected) => {
    expect(tools.protects(`/project/${path}`)).toBeDefined();
    expect(agents.protects(`/project/${path}`) !== undefined).toBe(isProtected);
  });

  it('are all in the documentation', () => {
    const page = readFileSync(new URL('../../docs/tools.md', import.meta.url), 'utf8');
    const missing = PROTECTED_RULES.filter(
      ({ pattern }) => !/^\.git\/(?!worktrees|\*\*)/.test(pattern) && !page.includes(`\`${pattern}\``),
    );
    expect(missing).toEqual([]);
  });
});
