import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands/all.ts';
import { folderWith, say } from './support/program.ts';

/** The golden files have all wording in one place. Rewrite them with `vitest run test/cli/messages.test.ts -u`. */
const SLOW = { timeout: 300_000 };

const FILES = {
  'tasks.json': JSON.stringify([
    { id: 'a', function: 'list_directory', params: { path: '.' } },
    { id: 'b', function: 'read_file', params: { path: 'missing' } },
    { id: 'c', function: 'read_file', params: { path: 'missing' }, depends_on: ['b'] },
  ]),
  'bad.json': JSON.stringify([
    { id: 'a', function: 'list_director', params: { path: '.' } },
    { id: 'b', function: 'read_file', params: { path: 1 } },
    { id: 'c', function: 'read_file', params: { path: 'x' }, depends_on: ['d'] },
  ]),
  'allow.toml': '[tools]\nallow = ["read_fil"]\n',
  'two.toml': '[tools]\nallow = ["a*", "b"]\n',
  'deny.toml': '[tools]\ndeny = ["*"]\n',
};

/** Command lines that are refused. */
const REFUSED: readonly (readonly string[])[] = [
  ['stauts'],
  ['help', 'stauts'],
  ['nonsense'],
  ['status', '--batchh', 'x'],
  ['start', 'a b'],
  ['results', 'b'],
  ['explain', 'a', 'b'],
  ['explain', 'bb', '--batch', 'tasks'],
  ['explain', '--batch', 'task'],
  ['tools', 'read_fil'],
  ['tools', '--config', 'allow.toml'],
  ['tools', '--config', 'two.toml'],
  ['tools', '--config', 'deny.toml'],
  ['completion', 'bsh'],
  ['completion', 'tcsh'],
  ['results', '--format', 'fancy'],
  ['results', '--limit', '0'],
  ['results', '--id', 'a', '--offset', '-1'],
  ['token', 'ci', '--scope', 'all'],
  ['token', 'a b'],
  ['serve', '--port', '99999'],
  ['serve', '--log-level', 'loud'],
  ['cancel'],
  ['simulate', '--max-concurrent', '0'],
  ['plan', 'tasks.json', '--max-concurrent', '0'],
  ['simulate', '--assume', 'long'],
  ['start', '--timeout', 'soon'],
  ['run'],
  ['run', 'none.json'],
  ['run', '~/t.json'],
  ['run', 'bad.json'],
  ['run', 'tasks.json', '--each', '*.ts'],
  ['run', '--each', '*.ts'],
  ['run', 'tasks.json', '--function', 'read_file'],
  ['run', 'tasks.json', '--max-concurrent', '0'],
  ['run', 'tasks.json', '--timeout', '-1', '--max-concurrent', '0'],
  ['run', 'tasks.json', '--gantt', 'tasks.json/a.svg'],
  ['run', 'tasks.json', '--trace', '.'],
  ['run', 'tasks.json', '--graph', 'a.png'],
  ['mcp', 'instal'],
  ['mcp', 'install'],
  ['mcp', 'install', 'cusror'],
  ['mcp', 'install', 'emacs'],
  ['mcp', 'install', 'cursor', '--scope', 'all'],
  ['dashboard'],
  ['tasks', 'nxt'],
  ['tasks', 'nonsense'],
];

describe('wording', () => {
  it('of the help', SLOW, async () => {
    const folder = folderWith();
    const texts: string[] = [];
    for (const argv of [['--help'], ...COMMANDS.map(({ name }) => ['help', name])]) {
      const { status, stdout, stderr } = await say(folder, argv);
      expect({ argv, status, stderr }).toEqual({ argv, status: 0, stderr: '' });
      texts.push(`$ volley ${argv.join(' ')}\n${stdout.replace(/here \d+/, 'here 8')}`);
    }
    await expect(texts.join('\n')).toMatchFileSnapshot('golden/help.txt');
  });

  it('of errors', SLOW, async () => {
    const folder = folderWith(FILES);
    await say(folder, ['add-batch', 'tasks.json', '--batch', 'tasks']);
    const texts: string[] = [];
    for (const argv of REFUSED) {
      const { status, stdout, stderr } = await say(folder, argv);
      expect({ argv, status }).toEqual({ argv, status: 2 });
      texts.push(`$ volley ${argv.join(' ')}\n${stdout}${stderr}`.replaceAll(folder, '<folder>'));
    }
    await expect(texts.join('\n')).toMatchFileSnapshot('golden/errors.txt');
  });
});
