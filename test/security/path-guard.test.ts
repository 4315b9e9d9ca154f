import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fold } from '../../src/config/protected-paths.ts';
import { cpuMsOf } from '../support/cpu-time.ts';
import { amount } from '../support/depth.ts';
import { type Attack, HostileCaller } from './support/hostile-caller.ts';

const SLOW = { timeout: 300_000 };
const LIMITS = '[limits]\ncpu = 8\nmemory_mb = 8000';
const shell = (command: string): Attack => ({ function: 'shell', params: { command } });
const WAIT = 'while [ ! -e ready ]; do sleep 0.02; done';
/** Exchanges a folder with a protected name in it and a link to elsewhere, over and over (renameat2, x86-64 and ARM). */
const SWAP = (victim: string) => `
  my $call = { x86_64 => 316, aarch64 => 276 }->{(split " ", qx(uname -m))[0]};
  mkdir "s"; mkdir "s/.vscode"; symlink "${victim}", "l"; open my $ready, ">", "ready";
  my ($s, $l) = ("s", "l");
  my $end = time + 20; until (-e "stop" || time > $end) { for (1 .. 300) { syscall $call, -100, $s, -100, $l, 2 } }
`;

describe('a command that runs beside another one', () => {
  it('gets nowhere by a folder that the other one exchanges with a link', SLOW, async () => {
    const agent = new HostileCaller(LIMITS);
    writeFileSync(join(agent.home, 'secret'), 'original');
    agent.write('swap.pl', SWAP(agent.home));
    const attack = 'cat s/secret l/secret; echo hostile >> s/secret; echo hostile >> l/secret; true';
    // One after the other beside it: the chance is in the moment of their start.
    const attacks = Array.from({ length: amount({ quick: 9, deep: 24 }) }, () =>
      shell(`(${attack}) >> loot 2>/dev/null`),
    );
    await agent.attackBeside(shell('perl swap.pl'), shell(WAIT), ...attacks, shell('touch stop'));
    expect(agent.read('loot')).not.toContain('original');
    expect(readFileSync(join(agent.home, 'secret'), 'utf8')).toBe('original');
  });

  it('finds what is hidden covered, however many protected names the other one makes', SLOW, async () => {
    const agent = new HostileCaller(LIMITS);
    agent.write('.git/hooks/pre-commit', 'original');
    agent.write('.volley/secret', 'original');
    const [made, , read] = await agent.attackBeside(
      shell(
        'i=0; while [ $i -lt 300 ]; do : > .YARNRC$i; i=$((i+1)); done; touch ready; j=0; while [ ! -e stop ] && [ $j -lt 500 ]; do sleep 0.02; j=$((j+1)); done',
      ),
      shell(WAIT),
      shell(
        'cat .volley/secret; echo hostile > .git/hooks/pre-commit; echo "# hostile" >> volley.toml; touch stop',
      ),
    );
    expect(made?.code).toBe('PATH_PROTECTED');
    expect(JSON.stringify(read)).not.toContain('original');
    expect(agent.read('.git/hooks/pre-commit')).toBe('original');
    expect(agent.read('volley.toml')).not.toContain('hostile');
    expect(readdirSync(agent.folder).filter((name) => name.startsWith('.YARNRC'))).toEqual([]);
  });
});

describe('more protected paths than a sandbox covers', () => {
  it('are compared afterwards', SLOW, async () => {
    const agent = new HostileCaller();
    for (let index = 0; index < 100; index++) agent.write(`p/${index}/node_modules/a.js`, 'original');
    const results = await agent.attack(
      shell('true'),
      ...[0, 50, 99].map((index) => shell(`echo hostile > p/${index}/node_modules/a.js`)),
    );
    expect(results.map(({ status }) => status)).toEqual(['completed', 'failed', 'failed', 'failed']);
  });

  it('refuse the start if there are too many for that as well', SLOW, async () => {
    const agent = new HostileCaller();
    for (let index = 0; index < 100; index++)
      mkdirSync(join(agent.folder, `p/${index}/node_modules`), { recursive: true });
    const files = join(agent.folder, 'p/99/node_modules');
    for (let index = 0; index < 10_001; index++) writeFileSync(join(files, String(index)), '');
    const [result] = await agent.attack(shell('touch started'));
    expect(result).toMatchObject({ code: 'PATH_PROTECTED' });
    expect(result?.message).toContain('tools.writable');
    expect(agent.read('started')).toBeUndefined();
  });
});

describe('a folder that cannot be looked through', () => {
  it('hides nothing that a command makes in it', SLOW, async () => {
    const agent = new HostileCaller();
    const deep = 'perl -e \'for (1 .. 30) { mkdir "d" x 200; chdir "d" x 200 } mkdir ".husky"\'';
    const results = await agent.attack(
      shell('mkdir -p sub/.vscode && chmod 0311 sub && chmod 0311 .'),
      shell('mkdir -p other/sub/.vscode && chmod 0 other/sub && chmod 0400 other'),
      shell(deep),
    );
    const made = ['sub/.vscode', 'other/sub/.vscode'].filter((path) => existsSync(join(agent.folder, path)));
    spawnSync('rm', ['-rf', 'd'.repeat(200)], { cwd: agent.folder });
    expect(results.map(({ code }) => code)).toEqual(results.map(() => 'PATH_PROTECTED'));
    expect(made).toEqual([]);
  });
});

describe('a root inside another one', () => {
  it('cannot be replaced by a link', SLOW, async () => {
    const agent = new HostileCaller('roots = [".", "mid/sub"]');
    agent.write('mid/sub/a.txt', 'original');
    const attacks = [
      shell(`mv mid moved; mkdir mid; ln -s ${agent.home} mid/sub; true`),
      shell(`mv mid/sub mid/moved; ln -s ${agent.home} mid/sub; true`),
      shell('echo hostile > mid/sub/a.txt; echo hostile > mid/sub/planted'),
    ];
    await agent.attack(...attacks);
    expect(existsSync(join(agent.home, 'planted'))).toBe(false);
    expect(agent.read('mid/sub/planted')?.trim()).toBe('hostile');
  });

  it('is refused if it is a link that leads out', SLOW, async () => {
    const agent = new HostileCaller('roots = [".", "link"]');
    symlinkSync(agent.home, join(agent.folder, 'link'));
    const [result] = await agent.attack(shell('touch link/planted'));
    expect(result).toMatchObject({ code: 'PATH_PROTECTED' });
    expect(existsSync(join(agent.home, 'planted'))).toBe(false);
  });
});

describe('a protected link', () => {
  it('is moved away when it leads elsewhere afterwards', SLOW, async () => {
    const agent = new HostileCaller();
    agent.write('conf/tasks.json', 'original');
    symlinkSync('conf', join(agent.folder, 'middle'));
    symlinkSync('middle', join(agent.folder, '.vscode'));
    symlinkSync('env', join(agent.folder, '.envrc'));
    const results = await agent.attack(
      shell('true'),
      shell('echo hostile > env'),
      shell('mkdir evil && echo hostile > evil/tasks.json && ln -sfn evil middle'),
    );
    expect(results.map(({ code }) => code)).toEqual([null, 'PATH_PROTECTED', 'PATH_PROTECTED']);
    expect([agent.read('.envrc'), agent.read('.vscode/tasks.json')]).toEqual([undefined, undefined]);
  });
});

describe('a store in a folder that commands write', () => {
  it('gets no records of servers from them', SLOW, async () => {
    const agent = new HostileCaller('[store]\nfile = "data/volley.db"');
    const results = await agent.attack(
      shell('echo hostile > data/a.txt'),
      shell('echo hostile > data/volley.db-server.json'),
      shell('echo hostile > data/volley.db-sessions-80.json'),
    );
    expect(results.map(({ code }) => code)).toEqual([null, 'PATH_PROTECTED', 'PATH_PROTECTED']);
    expect(readdirSync(join(agent.folder, 'data')).filter((name) => name.endsWith('.json'))).toEqual([]);
  });
});

describe('a great many breaches', () => {
  it('are all moved away, and an error names a few of them', SLOW, async () => {
    const agent = new HostileCaller();
    const results = await agent.attack(
      shell(`perl -e 'for (1 .. 2000) { open my $file, ">", ".yarnrc$_" }'`),
      shell('touch started'),
    );
    expect(results.map(({ code }) => code)).toEqual(['PATH_PROTECTED', 'PATH_PROTECTED']);
    expect(results[0]?.message?.length).toBeLessThan(10_000);
    expect(readdirSync(agent.folder).filter((name) => name.startsWith('.yarnrc'))).toEqual([]);
    // The quarantine is full until the user has looked.
    expect(agent.read('started')).toBeUndefined();
    rmSync(join(agent.folder, '.volley/quarantine'), { recursive: true });
    const [again] = await agent.attack(shell('touch started'));
    expect(again?.status).toBe('completed');
  });
});

it('a name with very many dots is folded at once', () => {
  const dots = '.'.repeat(100_000);
  const spentMs = cpuMsOf(() => expect(fold(`a/${dots}x/.GIT${dots}/b::$DATA. .`)).toBe(`a/${dots}x/.git/b`));
  expect(spentMs).toBeLessThan(1000);
});
