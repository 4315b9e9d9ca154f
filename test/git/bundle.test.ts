import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { admitBundle, readBundle, repositoryId, tipsOf, writeBundle } from '../../src/git/bundle.ts';
import { Git } from '../../src/git/git.ts';
import { RefGuard } from '../../src/git/ref-guard.ts';
import { git, repository } from '../tasks/workspace/support.ts';

/** The project, and a clone in which somebody prepares what is sent back. */
let project: string;
let other: string;
let base: string;
let outside: string;

beforeEach(() => {
  project = repository({ 'a.txt': 'one\n' });
  base = git(project, 'rev-parse', 'HEAD');
  const folder = mkdtempSync(join(tmpdir(), 'volley-bundle-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  outside = folder;
  other = join(folder, 'clone');
  git(project, 'clone', '-q', project, other);
});

function commit(...message: string[]): string {
  git(other, 'add', '-A');
  git(other, 'commit', '-q', '--allow-empty', '-m', message.join(' ') || 'work');
  return git(other, 'rev-parse', 'HEAD');
}

/** A tree object that git would not make. */
function rawTree(...entries: readonly { mode: string; name: string; object: string }[]): string {
  const body = Buffer.concat(
    entries.map(({ mode, name, object }) =>
      Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(object, 'hex')]),
    ),
  );
  const how = ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'];
  return execFileSync('git', how, { cwd: other, input: body, encoding: 'utf8' }).trim();
}

function commitTree(tree: string): string {
  const made = git(other, 'commit-tree', tree, '-p', base, '-m', 'work');
  git(other, 'update-ref', 'refs/heads/work', made);
  return made;
}

/** Writes a bundle of these refs, by default of the current branch. */
function bundle(...refs: string[]): string {
  const file = join(outside, 'work.bundle');
  git(other, 'bundle', 'create', '-q', file, ...(refs.length === 0 ? ['HEAD'] : refs), `^${base}`);
  return file;
}

async function admit(commit: string, file = bundle()) {
  const refs = git(project, 'for-each-ref');
  const place = join(outside, 'quarantine');
  try {
    return await admitBundle(new Git(project), file, { commit, base, place });
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    const isKnown = execFileSync('git', ['cat-file', '--batch-check'], {
      cwd: project,
      input: `${commit}\n`,
    });
    return { code, message, reached: !String(isKnown).includes('missing') };
  } finally {
    expect(git(project, 'for-each-ref')).toBe(refs);
  }
}

/** A pack with two more objects: 16 MB of zeros, and a delta that copies them 40 times. */
function packWithBomb(pack: Buffer): Buffer {
  const zeros = Buffer.alloc(16 * 2 ** 20 - 1);
  const name = createHash('sha1').update(`blob ${zeros.length}\0`).update(zeros).digest();
  const copies = 40;
  const copy = Buffer.of(0x80 | 0x70, 0xff, 0xff, 0xff);
  const delta = Buffer.concat([
    varint(zeros.length),
    varint(zeros.length * copies),
    ...Array.from({ length: copies }, () => copy),
  ]);
  const body = Buffer.concat([
    pack.subarray(0, -20),
    objectHeader(3, zeros.length),
    deflateSync(zeros),
    objectHeader(7, delta.length),
    name,
    deflateSync(delta),
  ]);
  body.writeUInt32BE(pack.readUInt32BE(8) + 2, 8);
  return Buffer.concat([body, createHash('sha1').update(body).digest()]);
}

/** Type and size of an object in a pack. */
function objectHeader(type: number, size: number): Buffer {
  const rest = Math.floor(size / 16);
  const first = (type << 4) | (size % 16);
  return rest === 0 ? Buffer.of(first) : Buffer.concat([Buffer.of(first | 0x80), varint(rest)]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 0x80);
  return Buffer.of(...bytes, value);
}

const refused = { code: 'AGENT_WORK_REFUSED', reached: false };

describe('a bundle of a worker', () => {
  it('that has one commit on top of the base is taken, without its refs', async () => {
    writeFileSync(join(other, 'a.txt'), 'two\n');
    symlinkSync('a.txt', join(other, 'link'));
    const made = commit();
    expect(await admit(made)).toEqual([
      { path: 'a.txt', mode: '100644' },
      { path: 'link', mode: '120000' },
    ]);
    expect(git(project, 'show', `${made}:a.txt`)).toBe('two');
  });

  it('of a few bytes that stand for a file of any size is refused before that is in memory', async () => {
    writeFileSync(join(other, 'a.txt'), 'two\n');
    const made = commit();
    const file = bundle();
    const text = readFileSync(file);
    const start = text.indexOf('PACK');
    writeFileSync(file, Buffer.concat([text.subarray(0, start), packWithBomb(text.subarray(start))]));
    expect(await admit(made, file)).toMatchObject(refused);
  });

  it('with more than one ref is refused', async () => {
    const made = commit();
    git(other, 'branch', 'release');
    expect(await admit(made, bundle('HEAD', 'release'))).toMatchObject(refused);
  });

  it('with another parent, several commits, or another commit than announced is refused', async () => {
    commit('first');
    expect(await admit(commit('second'))).toMatchObject(refused);
    git(other, 'checkout', '-q', '--orphan', 'alone');
    expect(await admit(commit('alone'))).toMatchObject(refused);
    expect(await admit('f'.repeat(40))).toMatchObject(refused);
  });

  it.each(['/etc/passwd', '../secret', 'x/../../secret', '.git/hooks'])(
    'with a symbolic link to %s is refused',
    async (target) => {
      symlinkSync(target, join(other, 'link'));
      expect(await admit(commit())).toMatchObject(refused);
    },
  );

  it('with files in .git, or a path twice, is refused', async () => {
    const object = git(other, 'hash-object', '-w', join(other, 'a.txt'));
    const hook = rawTree({ mode: '100755', name: 'post-checkout', object });
    const hooks = rawTree({ mode: '40000', name: 'hooks', object: hook });
    expect(
      await admit(commitTree(rawTree({ mode: '40000', name: '.git', object: hooks })), bundle('work')),
    ).toMatchObject(refused);
    const link = execFileSync('git', ['hash-object', '-w', '--stdin'], { cwd: other, input: '/tmp' });
    const twice = rawTree(
      { mode: '120000', name: 'd', object: String(link).trim() },
      { mode: '40000', name: 'd', object: hook },
    );
    expect(await admit(commitTree(twice), bundle('work'))).toMatchObject(refused);
  });

  it('with a submodule is refused', async () => {
    const tree = rawTree({ mode: '160000', name: 'sub', object: base });
    expect(await admit(commitTree(tree), bundle('work'))).toMatchObject(refused);
  });

  it('with missing objects, a damaged pack, or too many objects is refused', async () => {
    const lacking = rawTree({ mode: '100644', name: 'a.txt', object: 'e'.repeat(40) });
    const made = commitTree(lacking);
    const file = join(outside, 'lacking.bundle');
    const pack = execFileSync('git', ['pack-objects', '--stdout', '-q'], {
      cwd: other,
      input: `${made}\n${lacking}\n`,
    });
    writeFileSync(file, Buffer.concat([Buffer.from(`# v2 git bundle\n${made} refs/heads/work\n\n`), pack]));
    expect(await admit(made, file)).toMatchObject(refused);

    git(other, 'checkout', '-q', '-B', 'fine', base);
    writeFileSync(join(other, 'a.txt'), 'three\n');
    const fine = commit();
    const bytes = readFileSync(bundle());
    const at = bytes.indexOf('PACK');
    const damaged = Buffer.from(bytes);
    damaged[damaged.length - 30]! ^= 0xff;
    writeFileSync(file, damaged);
    expect(await admit(fine, file)).toMatchObject(refused);
    const many = Buffer.from(bytes);
    many.writeUInt32BE(4_000_000, at + 8);
    writeFileSync(file, many);
    expect(await admit(fine, file)).toMatchObject(refused);
    writeFileSync(file, 'not a bundle');
    expect(await admit(fine, file)).toMatchObject(refused);
  });
});

describe('a bundle for a worker', () => {
  it('has what the clone lacks, and nothing if it lacks nothing', async () => {
    const [here, there] = [new Git(project), new Git(other)];
    const tips = await tipsOf(there);
    expect(tips).toContain(base);
    expect(await repositoryId(there)).toBe(await repositoryId(here));
    const file = join(outside, 'sent.bundle');
    expect(await writeBundle(here, file, base, tips)).toBe(false);
    writeFileSync(join(project, 'a.txt'), 'four\n');
    git(project, 'commit', '-q', '-a', '-m', 'more');
    const next = git(project, 'rev-parse', 'HEAD');
    // What the clone claims to have and nobody knows is no use.
    expect(await writeBundle(here, file, next, [...tips, 'd'.repeat(40), '--all'])).toBe(true);
    expect(await readBundle(there, file)).toBe(next);
    expect(git(other, 'show', `${next}:a.txt`)).toBe('four');
    expect(git(project, 'for-each-ref', 'refs/volley')).toBe('');
  });

  it("is made of a ref that does not last, whose removal is nobody's fault", async () => {
    const day = 24 * 3_600_000;
    const made = [Date.now() - 2 * day, Date.now() - 1000].map(
      (at) => `refs/volley/sent/${at}-0123456789abcdef`,
    );
    for (const ref of made) git(project, 'update-ref', ref, base);
    git(project, 'commit', '-q', '--allow-empty', '-m', 'more');
    const guard = RefGuard.of(project)!;
    await writeBundle(new Git(project), join(outside, 'sent.bundle'), 'HEAD', [base]);
    expect(git(project, 'for-each-ref', '--format=%(refname)', 'refs/volley')).toBe(made[1]);
    git(project, 'update-ref', '-d', made[1]!);
    expect(await guard.restore()).toMatchObject({ paths: [], problems: [] });
  });

  it('is refused by a clone that lacks what it builds on', async () => {
    for (const text of ['five\n', 'six\n']) {
      writeFileSync(join(project, 'a.txt'), text);
      git(project, 'commit', '-q', '-a', '-m', text);
    }
    const file = join(outside, 'sent.bundle');
    await writeBundle(new Git(project), file, 'HEAD', [git(project, 'rev-parse', 'HEAD~1')]);
    mkdirSync(join(outside, 'x'));
    await expect(readBundle(new Git(other), file)).rejects.toMatchObject({ code: 'AGENT_WORK_REFUSED' });
  });
});
