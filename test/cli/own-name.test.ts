import { describe, expect, it } from 'vitest';
import { rewriteAnswer } from '../../src/cli/output/wording.ts';
import { folderWith, say } from './support/program.ts';

describe('a command to go on with', () => {
  it.each([
    ['from a shell', {}, 'volley'],
    ['by npx', { npm_command: 'exec' }, 'npx volley'],
    ['by a script of a package', { npm_lifecycle_event: 'work' }, 'npx volley'],
  ])('can be typed as it stands where the program was started %s', (_, env, name) => {
    expect(rewriteAnswer('1 task added. Run it with "start".', { batch: 'audit' }, { env })).toBe(
      `1 task added. Run it with: ${name} start --batch audit`,
    );
  });

  it.each([
    [['dashboard'], 'Start one with npx volley serve.'],
    [['dashboard', '--config', 'my conf.toml'], "Start one with npx volley serve --config 'my conf.toml'."],
    [['tools', 'zzz'], 'run: npx volley tools'],
    [
      ['tasks', 'plan', 'auth', '--config', 'my conf.toml'],
      "with npx volley tasks new --config 'my conf.toml'.",
    ],
    [['tasks', 'status'], 'with npx volley tasks new.'],
    [['help', 'start'], 'npx volley start --batch audit --detach && npx volley watch --batch audit\n'],
    [['help', 'start'], 'Usage: npx volley start ['],
    [['tasks', 'help'], 'Usage: npx volley tasks ['],
    [['help', 'completion'], 'source <(volley completion bash)'],
  ])('is the own one in whatever %j says', { timeout: 180_000 }, async (argv, words) => {
    const said = await say(folderWith({ 'my conf.toml': '' }), argv, '', undefined, { npm_command: 'exec' });
    expect(`${said.stdout}${said.stderr}`).toContain(words);
    expect(`${said.stdout}${said.stderr}`).not.toMatch(/npx npx|(?<!npx |<\()volley (?:start|tasks|serve) /);
  });
});
