import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, posix, resolve } from 'node:path';
import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';
import { Git, splitNul } from './git.ts';

/** Refs that a bundle is made of. They exist only while it is made, and their names begin with the time. */
export const SENT = 'refs/volley/sent/';
/** An older one was left by a crash. */
const SENT_MS = 24 * 3_600_000;
const OBJECT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const HEADER_BYTES = 64 * 1024;
const MAX_OBJECTS = 100_000;
const MAX_CHANGES = 20_000;
/** What all files that a commit changes may have together. */
const MAX_CONTENT_BYTES = 512 * 2 ** 20;
const MAX_TIPS = 30;
const MAX_LINK_LENGTH = 4096;

/** Whether it is the full name of a git object. */
function isObjectName(text: unknown): text is string {
  return typeof text === 'string' && OBJECT.test(text);
}

/** What all clones of a repository have in common: a name that follows from its first commits. */
export async function repositoryId(git: Git): Promise<string> {
  const roots = (await git.ask(['rev-list', '--max-parents=0', 'HEAD'])).trim().split('\n').sort();
  return createHash('sha256').update(roots.join('\n')).digest('hex').slice(0, 32);
}

/** The newest commits of branches, with all that they depend on. */
export async function tipsOf(git: Git): Promise<string[]> {
  const how = ['--sort=-committerdate', `--count=${MAX_TIPS}`, '--format=%(objectname)'];
  const tips = (await git.ask(['for-each-ref', ...how, 'refs/heads', 'refs/remotes'])).split('\n');
  const head = await git.resolve('HEAD^{commit}');
  return [...new Set([...(head === undefined ? [] : [head]), ...tips])].filter(isObjectName);
}

/** Writes a commit and what `known` commits do not have into a bundle. Returns false if there is nothing to write. */
export async function writeBundle(
  git: Git,
  file: string,
  commit: string,
  known: readonly string[],
): Promise<boolean> {
  const names = known.filter(isObjectName);
  const types = await git.ask(['cat-file', '--batch-check=%(objectname) %(objecttype)'], lines(names));
  const present = names.filter((name) => types.includes(`${name} commit\n`));
  const without = present.map((name) => `^${name}`);
  const missing = await git.ask(['rev-list', '--max-count=1', commit, ...without]);
  if (missing === '') return false;
  const now = Date.now();
  await removeOldRefs(git, now);
  const ref = `${SENT}${now}-${randomBytes(8).toString('hex')}`;
  await git.ask(['update-ref', ref, commit]);
  try {
    await git.ask(['bundle', 'create', '-q', file, ref, ...without]);
  } finally {
    await git.ask(['update-ref', '-d', ref]);
  }
  return true;
}

async function removeOldRefs(git: Git, now: number): Promise<void> {
  for (const ref of (await git.ask(['for-each-ref', '--format=%(refname)', SENT])).split('\n'))
    if (ref !== '' && Number(ref.slice(SENT.length).split('-')[0]) < now - SENT_MS)
      await git.run(['update-ref', '-d', ref]);
}

/** Adds the objects of a bundle to a repository, and no ref. Returns the only commit that it offers. */
export async function readBundle(git: Git, file: string): Promise<string> {
  const bundle = parsedBundle(await readFile(file));
  for (const needed of bundle.prerequisites)
    if (!(await git.succeeds(['cat-file', '-e', `${needed}^{commit}`])))
      throw unusable(`this clone lacks the commit ${needed} that it builds on. Fetch, and try again`);
  await git.ask(['index-pack', '--fix-thin', '--stdin'], bundle.pack);
  return bundle.commit;
}

/** A change of a path, from one commit to the next. */
interface CommittedChange {
  readonly path: string;
  /** Undefined for a removed file. */
  readonly mode: string | undefined;
}

/**
 * Adds the one commit of a bundle from another machine to a repository, after it was examined in a place of its own.
 * Nothing in it is trusted: it must be a single commit with the parent `base`, well-formed, and of limited size, and its
 * symbolic links must stay inside the repository. No ref of it is used. Returns what the commit changes.
 */
export async function admitBundle(
  git: Git,
  file: string,
  { commit, base, place }: { readonly commit: string; readonly base: string; readonly place: string },
): Promise<CommittedChange[]> {
  const bundle = parsedBundle(await readFile(file));
  if (bundle.commit !== commit) throw unusable(`it has another commit than the one that was announced`);
  const objects = resolve(git.folder, (await git.ask(['rev-parse', '--git-path', 'objects'])).trim());
  const format = (await git.ask(['rev-parse', '--show-object-format'])).trim();
  await mkdir(place, { mode: 0o700 });
  try {
    // A small pack can stand for objects of any size, of which git makes each in memory.
    const quarantine = new Git(place, ['-c', 'pack.threads=1'], MAX_CONTENT_BYTES);
    await quarantine.ask(['init', '-q', '--bare', '--template=', `--object-format=${format}`, '.']);
    await mkdir(join(place, 'objects', 'info'), { recursive: true });
    await writeFile(join(place, 'objects', 'info', 'alternates'), `${objects}\n`);
    const indexed = await quarantine.run(['index-pack', '--strict', '--fix-thin', '--stdin'], bundle.pack);
    if (indexed.exitCode !== 0)
      throw unusable(`git refuses it: ${show(indexed.stderr.trim().slice(0, 300))}`);
    const changes = await examine(quarantine, commit, base);
    await git.ask(['index-pack', '--strict', '--fix-thin', '--stdin'], bundle.pack);
    return changes;
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function examine(git: Git, commit: string, base: string): Promise<CommittedChange[]> {
  const parents = await git.run(['rev-list', '--parents', '--max-count=1', commit]);
  if (parents.stdout.trim() !== `${commit} ${base}`)
    throw unusable(`it is not one commit on top of the one that was sent`);
  const how = ['-r', '-z', '--raw', '--no-renames', '--no-abbrev', '--no-commit-id'];
  const fields = splitNul(await git.ask(['diff-tree', ...how, base, commit]));
  if (fields.length > 2 * MAX_CHANGES) throw unusable(`it changes more than ${MAX_CHANGES} files`);
  const changes: (CommittedChange & { readonly object: string })[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode = '', , object = ''] = fields[at]!.slice(1).split(' ');
    changes.push({ path: fields[at + 1]!, mode: mode === '000000' ? undefined : mode, object });
  }
  const present = changes.filter(({ mode }) => mode !== undefined);
  const sizes = await git.ask(
    ['cat-file', '--batch-check=%(objectsize)'],
    lines(present.filter(({ mode }) => mode !== '160000').map(({ object }) => object)),
  );
  const total = sizes.split('\n').reduce((sum, size) => sum + Number(size), 0);
  if (!(total <= MAX_CONTENT_BYTES))
    throw unusable(`the files that it changes have more than ${MAX_CONTENT_BYTES} bytes`);
  for (const { path, mode, object } of present) {
    if (mode === '160000') throw unusable(`it changes the submodule ${show(path)}`);
    if (mode !== '120000') continue;
    const target = await git.ask(['cat-file', 'blob', object]);
    if (!staysInside(path, target))
      throw unusable(`the symbolic link ${show(path)} leads out of the repository`);
  }
  return changes.map(({ path, mode }) => ({ path, mode }));
}

function staysInside(path: string, target: string): boolean {
  if (target === '' || target.length > MAX_LINK_LENGTH || target.startsWith('/')) return false;
  // A `..` behind a name could lead back through another link.
  if (posix.normalize(target) !== target) return false;
  const end = posix.join(posix.dirname(path), target);
  return end !== '..' && !end.startsWith('../') && end !== '.git' && !end.startsWith('.git/');
}

interface Bundle {
  readonly prerequisites: readonly string[];
  readonly commit: string;
  readonly pack: Buffer;
}

/** Splits a bundle into its header and its pack. */
function parsedBundle(bytes: Buffer): Bundle {
  const end = bytes.subarray(0, HEADER_BYTES).indexOf('\n\n');
  const [first, ...header] = bytes.toString('latin1', 0, Math.max(0, end)).split('\n');
  if (end < 0 || !/^# v[23] git bundle$/.test(first!)) throw unusable('it is not a git bundle');
  const rest = header.filter((line) => !line.startsWith('@'));
  const nameIn = (line: string) => line.slice(0, line.search(/ |$/));
  const prerequisites = rest.filter((line) => line.startsWith('-')).map((line) => nameIn(line.slice(1)));
  const refs = rest.filter((line) => !line.startsWith('-')).map(nameIn);
  const [commit] = refs;
  if (refs.length !== 1 || ![...refs, ...prerequisites].every(isObjectName))
    throw unusable('it must offer exactly one commit');
  const pack = bytes.subarray(end + 2);
  if (pack.toString('latin1', 0, 4) !== 'PACK' || pack.length < 12) throw unusable('it has no pack');
  if (pack.readUInt32BE(8) > MAX_OBJECTS) throw unusable(`it has more than ${MAX_OBJECTS} objects`);
  return { prerequisites, commit: commit!, pack };
}

function lines(names: readonly string[]): string {
  return names.map((name) => `${name}\n`).join('');
}

function unusable(why: string): VolleyError {
  return Object.assign(
    new VolleyError('AGENT_WORK_REFUSED', `The commits from another machine cannot be used: ${why}.`),
    { retryable: false },
  );
}
