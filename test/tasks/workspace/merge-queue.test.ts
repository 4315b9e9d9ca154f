import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DeliveryGuard, MergedPlace, Workspace } from '../../../src/tasks/workspace/workspace.ts';
import { put } from '../support/feature.ts';
import { git, never, repository, subtask, useDifficultGit, worktrees } from './support.ts';

useDifficultGit();

const MERGE = '.volley/worktrees/auth-merge';

type Recheck = NonNullable<ReturnType<DeliveryGuard['recheck']>>;

/** A guard that lets everything pass, but for what is said. */
function guard({
  recheck = async () => [],
  ...more
}: Partial<Omit<DeliveryGuard, 'recheck'>> & { readonly recheck?: Recheck } = {}): DeliveryGuard {
  return { signal: never, confirm: async () => {}, ...more, recheck: () => recheck };
}

function work({ folder }: Workspace, name: string): void {
  put(folder, name, 'work\n');
}

function commitIn(folder: string, name: string): void {
  put(folder, name, 'mine\n');
  git(folder, 'add', name);
  git(folder, 'commit', '-q', '-m', name);
}

test('what came in meanwhile is there when the work is looked at; without that it is not looked at again', async () => {
  const folder = repository();
  const { open, leftover } = await worktrees(folder);
  const [one, two, three] = [await open(), await open(subtask('02')), await open(subtask('03'))];
  work(one, 'a.txt');
  work(two, 'b.txt');
  work(three, 'c.txt');
  const filesIn = (place: string) => git(place, 'ls-files').split('\n').length;
  const seen: number[] = [];
  let atOnce = 0;
  const recheck = async ({ folder: place }: MergedPlace) => {
    expect(++atOnce).toBe(1);
    seen.push(filesIn(place));
    // The project does not have it yet.
    expect(filesIn(folder)).toBe(filesIn(place) - 1);
    await new Promise(setImmediate);
    atOnce--;
    return [];
  };
  const all = [one, two, three].map((each) => each.deliver('work', guard({ recheck })));
  expect(await Promise.all(all)).toEqual(all.map(() => ({ ok: true })));
  expect(seen).toEqual([3, 4]);
  // Were it to crash now, it would be known that this is done.
  const begun = { ...subtask('02'), startedAt: Date.now() - 600_000 };
  expect(await leftover(begun)).toMatchObject({ paths: ['b.txt'] });
  expect(await Promise.all([one, two, three].map((each) => each.close()))).toEqual(all.map(() => undefined));
  expect(git(folder, 'status', '--porcelain', '-unormal')).toBe('');
  expect(existsSync(join(folder, MERGE))).toBe(false);
});

test('a branch that moves while the work is looked at is looked at again, but not for ever', async () => {
  const folder = repository();
  const { open } = await worktrees(folder);
  const [once, always] = [await open(), await open(subtask('02'))];
  work(once, 'a.txt');
  work(always, 'b.txt');
  commitIn(folder, 'first');
  let looks = 0;
  const delivery = once.deliver(
    'work',
    guard({
      recheck: async ({ folder: place }) => {
        if (++looks === 1) commitIn(folder, 'second');
        else expect(git(place, 'ls-files').split('\n')).toEqual(['README.md', 'a.txt', 'first', 'second']);
        return [];
      },
    }),
  );
  expect([await delivery, looks]).toEqual([{ ok: true }, 2]);
  const moving = guard({
    recheck: async () => {
      commitIn(folder, `more-${++looks}`);
      return [];
    },
  });
  expect(await always.deliver('work', moving)).toMatchObject({
    text: expect.stringContaining('each of 5 checks'),
  });
  expect(existsSync(join(folder, 'b.txt'))).toBe(false);
});

test('nothing is moved for work that fails, conflicts, or is not wanted any more, nor for a run that is stopped', async () => {
  const folder = repository({ 'same.txt': 'base\n' });
  const { open } = await worktrees(folder);
  const seqs = ['01', '02', '03', '04'];
  const [wrong, conflicting, unwanted, stopped] = await Promise.all(seqs.map((seq) => open(subtask(seq))));
  for (const one of [wrong!, conflicting!, unwanted!, stopped!]) work(one, 'a.txt');
  work(conflicting!, 'same.txt');
  commitIn(folder, 'same.txt');
  const head = git(folder, 'rev-parse', 'HEAD');
  const broken = guard({ recheck: async () => ['`npm test` failed'] });
  expect(await wrong!.deliver('work', broken)).toMatchObject({
    text: expect.stringMatching(/: `npm test` failed\. It is kept/),
  });
  expect(await conflicting!.deliver('work', guard())).toMatchObject({ conflicts: ['same.txt'] });
  let isWanted = true;
  const blocked = guard({
    confirm: async () => {
      if (!isWanted) throw new Error('blocked meanwhile');
    },
    recheck: async () => {
      isWanted = false;
      return [];
    },
  });
  await expect(unwanted!.deliver('work', blocked)).rejects.toThrow('blocked meanwhile');
  const signal = AbortSignal.abort(new Error('stopped'));
  await expect(stopped!.deliver('work', guard({ signal }))).rejects.toThrow('stopped');
  expect(git(folder, 'rev-parse', 'HEAD')).toBe(head);
  for (const one of [wrong!, conflicting!, unwanted!, stopped!]) expect(await one.close()).toBe(one.folder);
  expect([existsSync(join(folder, MERGE)), git(folder, 'status', '--porcelain')]).toEqual([false, '']);
});

test('a set-up that fails with what came in meanwhile is told, and what a crash left is gone at the next start', async () => {
  const folder = repository();
  const { open, end } = await worktrees(folder, 'test ! -e clash || { echo no room for both >&2; exit 3; }');
  const workspace = await open();
  work(workspace, 'a.txt');
  commitIn(folder, 'clash');
  expect(await workspace.deliver('work', guard())).toMatchObject({
    text: expect.stringMatching(/setup command.*no room for both/),
  });
  await end();

  git(folder, 'worktree', 'add', '-q', '--detach', MERGE);
  put(folder, `${MERGE}/half`, 'half');
  await worktrees(folder);
  expect(existsSync(join(folder, MERGE))).toBe(false);
  expect(git(folder, 'worktree', 'list')).not.toContain('auth-merge');
  expect(readFileSync(join(folder, 'clash'), 'utf8')).toBe('mine\n');
});
