import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { folderWith, say } from './support/program.ts';

const SLOW = { timeout: 300_000 };
const TASKS = JSON.stringify([
  { id: 'alpha one', function: 'list_directory', params: { path: '.' } },
  { id: 'beta', function: 'list_directory', params: { path: '.' } },
]);

async function words(folder: string, ...line: string[]): Promise<string[]> {
  const { stdout } = await say(folder, ['completion', 'words', '--', ...line]);
  return stdout.split('\n').flatMap((row) => (row === '' ? [] : [row.split('\t')[0]!]));
}

describe('the words that may come next', () => {
  it('are commands, options, and the names that there are', SLOW, async () => {
    const folder = folderWith({ 'tasks.json': TASKS });
    await say(folder, ['add-batch', 'tasks.json', '--batch', 'my batch']);
    expect(await words(folder, 'sta')).toEqual(['start', 'status']);
    expect(await words(folder, 'start', '--dry')).toEqual(['--dry-run']);
    expect(await words(folder, 'status', '--batch', '')).toEqual(['my batch']);
    expect(await words(folder, 'explain', 'a')).toEqual(['alpha one']);
    expect(await words(folder, 'results', '--batch', 'my batch', '--id', '')).toEqual(['alpha one', 'beta']);
    expect(await words(folder, 'add', '--function', 'read_')).toEqual(['read_file']);
    expect(await words(folder, 'export', '--format', 'js')).toEqual(['json', 'jsonl']);
    expect(await words(folder, 'add', '--priority', 'h')).toEqual(['high']);
    expect(await words(folder, 'help', 'comp')).toEqual(['completion']);
    expect(await words(folder, 'mcp', '')).toEqual(['install', 'login', 'logout']);
    expect(await words(folder, 'mcp', 'install', 'c')).toEqual(['claude-code', 'codex', 'cursor']);
    expect(await words(folder, 'mcp', 'install', 'codex', '')).toEqual([]);
    expect(await words(folder, 'mcp', 'install', 'codex', '--scope', '')).toEqual(['project', 'user']);
    expect(await words(folder, 'token', 'ci', '--scope', '')).toEqual(['read', 'run', 'admin']);
    expect(await words(folder, 'serve', '--log-level', 'w')).toEqual(['warn']);
    expect(await words(folder, 'status', '--batch=my')).toEqual(['--batch=my batch']);
    expect(await words(folder, 'results', '--batch=my batch', '--id=b')).toEqual(['--id=beta']);
    // Where a file may stand, the shell knows better.
    expect(await words(folder, 'run', '')).toEqual([]);
  });

  it('are the commands and the features of tasks', SLOW, async () => {
    const folder = folderWith({
      'auth.md': '# Auth\n\nFeature: auth-system\n\n## Set up\n\n- Delivers: a.txt\n',
    });
    await say(folder, ['tasks', 'new', 'auth.md']);
    expect(await words(folder, 'tasks', 'ver')).toEqual(['verify']);
    expect(await words(folder, 'tasks', 'help', 'unb')).toEqual(['unblock']);
    expect(await words(folder, 'tasks', 'status', '')).toEqual(['auth-system']);
    expect(await words(folder, 'tasks', 'complete', 'auth-system', '01', '--fo')).toEqual(['--force']);
    expect(await words(folder, 'tasks', 'new', '')).toEqual([]);
  });

  it('are none where the folder is out of order', SLOW, async () => {
    const folder = folderWith({ 'volley.toml': 'nonsense' });
    expect(await say(folder, ['completion', 'words', '--', 'status', '--batch', ''])).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    });
  });
});

describe('the script for bash', () => {
  it('completes in a real bash, quotes odd names, and runs nothing of them', SLOW, async () => {
    const folder = folderWith({ 'tasks.json': TASKS });
    await say(folder, ['add-batch', 'tasks.json', '--batch', 'a $(touch pwned) b']);
    const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
    const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
    writeFileSync(
      join(folder, 'volley'),
      `#!/bin/sh\nexec "${process.execPath}" --import "${tsx}" "${main}" "$@"\n`,
    );
    chmodSync(join(folder, 'volley'), 0o755);
    const { stdout: script } = await say(folder, ['completion', 'bash']);
    writeFileSync(join(folder, 'script'), script);
    const complete = (...line: string[]) => {
      const quoted = line.map((word) => `'${word}'`).join(' ');
      const { stdout } = spawnSync(
        'bash',
        [
          '-c',
          `source script; COMP_WORDS=(${quoted}); COMP_CWORD=${line.length - 1}; _volley; printf '%s\\n' "\${COMPREPLY[@]}"; complete -p volley`,
        ],
        { cwd: folder, env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` }, encoding: 'utf8' },
      );
      return stdout.trimEnd().split('\n');
    };
    expect(complete('volley', 'expl')).toEqual(['explain', 'complete -o default -F _volley volley']);
    expect(complete('volley', 'status', '--batch', '')[0]).toBe('a\\ \\$\\(touch\\ pwned\\)\\ b');
    const { stdout: listed } = spawnSync('ls', { cwd: folder, encoding: 'utf8' });
    expect(listed).not.toContain('pwned');
  });
});
