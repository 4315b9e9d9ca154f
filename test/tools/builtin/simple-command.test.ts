import { expect, test } from 'vitest';
import { simpleCommand } from '../../../src/tools/builtin/shell.ts';

test.each([
  ['/bin/true', ['/bin/true']],
  ['git status --short', ['git', 'status', '--short']],
  ['npm  run   build:all', ['npm', 'run', 'build:all']],
  ['cc -DNAME=value -o out/a.o a.c', ['cc', '-DNAME=value', '-o', 'out/a.o', 'a.c']],
])('a shell would only start %s', (command, words) => {
  expect(simpleCommand(command)).toEqual(words);
});

test.each([
  'NAME=value command',
  'echo hi',
  'cd /tmp',
  'exit 3',
  'true',
  'if true',
  ': nothing',
  '. ./script',
  '[ a ]',
  'ls *.ts',
  'ls ?',
  'ls [ab]',
  'ls {a,b}',
  'cat ~/file',
  'echo $HOME',
  'a | b',
  'a & b',
  'a; b',
  'a > b',
  'a < b',
  'a # b',
  '(a)',
  '! a',
  '`a`',
  "say 'a b'",
  'say "a b"',
  'say a\\ b',
  'a\nb',
  'a\tb',
  ' a',
  'a ',
  '-a',
  'ä',
  '',
])('a shell has something to do for %j', (command) => {
  expect(simpleCommand(command)).toBeUndefined();
});
