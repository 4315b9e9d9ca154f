import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { Cover, SandboxPolicy } from '../runner.ts';
import type { OwnFolders } from './launcher.ts';

/** How bubblewrap is called on this machine; found by testing. */
export interface Bubblewrap {
  readonly program: string;
  /** The forms of user namespace it can create here. */
  readonly userFlags: readonly string[];
}

/** The forms to try, strictest first. The last is for root if user namespaces are disabled. */
export const USER_FLAGS: readonly (readonly string[])[] = [
  ['--unshare-user', '--disable-userns'],
  ['--unshare-user'],
  [],
];

export interface SandboxRequest {
  readonly policy: Pick<SandboxPolicy, 'read' | 'write' | 'network'>;
  /** What is protected inside the folders of the policy. */
  readonly covers?: readonly Cover[];
  /** A folder with the `passwd`, `group` and `hosts` files for `/etc`. */
  readonly accounts?: string | undefined;
  /** Folders and files that the program itself needs: Node, the tool's module. */
  readonly code: readonly string[];
  readonly cwd: string;
  /** The total size of its private temporary folders. */
  readonly temporaryBytes: number;
  /** Where bubblewrap reports that the program started and how it ended; the program does not get it. */
  readonly statusDescriptor?: number | undefined;
}

/** The program's private temporary folder. */
export const PRIVATE_TMP = '/tmp';

/** How much of the temporary space is in `/dev/shm`. */
const SHARED_MEMORY_SHARE = 0.25;

const SYSTEM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];
/** From `/etc`, only what programs need to start and to trust certificates. Listed in docs/tools.md. */
const SETTINGS = ['ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'alternatives', 'nsswitch.conf', 'localtime']
  .concat(
    'ca-certificates',
    // Only these parts: private keys are next to the certificates.
    'ssl/certs',
    'ssl/openssl.cnf',
    'pki/tls/certs',
    'pki/tls/openssl.cnf',
    'pki/ca-trust',
    'mime.types',
    'services',
  )
  .map((name) => `/etc/${name}`);
/** Name resolution, for programs with network access. */
const NETWORK_SETTINGS = ['/etc/hosts', '/etc/resolv.conf'];
/** Describes only the current user. */
const ACCOUNTS = ['passwd', 'group', 'hosts'];
/** An empty folder in place of a hidden one needs no space. */
const EMPTY_BYTES = '4096';

/**
 * The bubblewrap arguments to run a program: it sees the system folders and its own code read-only, the folders of the
 * policy, and nothing else; no other process, no network unless allowed, no capabilities.
 *
 * Started by root, it keeps root's uid, so that it can write root's files, but in a namespace that owns nothing. That
 * uid could still change kernel settings through `/proc/sys`, hence the read-only copy over it.
 */
export function sandboxArguments({ program, userFlags }: Bubblewrap, request: SandboxRequest): string[] {
  const { policy, cwd, statusDescriptor } = request;
  return [
    program,
    ...userFlags,
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...(policy.network ? [] : ['--unshare-net']),
    ...['--die-with-parent', '--cap-drop', 'ALL'],
    ...(statusDescriptor === undefined ? [] : ['--json-status-fd', String(statusDescriptor)]),
    ...mounts(request).flatMap(({ flags }) => flags),
    ...(existsSync(cwd) ? ['--dir', cwd, '--chdir', cwd] : ['--chdir', PRIVATE_TMP]),
    ...['--remount-ro', '/', '--'],
  ];
}

/** A sandbox whose folders are mounted once, for many calls. */
export interface SharedSandbox {
  /** Makes the folders; a program must follow. It reports to descriptor 3. */
  readonly argv: readonly [string, ...string[]];
  /** What is mounted. If one of these is replaced, a sandbox made before shows something else. */
  readonly sources: readonly string[];
  readonly own: OwnFolders;
}

/** Undefined if calls with these folders cannot share them. */
export function sharedSandbox({ program }: Bubblewrap, request: SandboxRequest): SharedSandbox | undefined {
  const { policy, covers = [], cwd, temporaryBytes } = request;
  const all = mounts(request);
  const isHosts = (path: string) => all.some((mount) => mount.path === path && mount.isOfHost);
  const isOwn = (path: string) => /^\/(proc|dev)(\/|$)/.test(path);
  if (all.some(({ path, isOfHost }) => isOfHost && isOwn(path)) || isOwn(cwd)) return undefined;
  const isCwdShown = nearest(cwd, new Map(all.map((mount) => [mount.path, mount])))?.isOfHost === true;
  if (!isCwdShown && isInTmp(cwd)) return undefined;
  return {
    argv: [
      ...[program, '--unshare-user', '--unshare-pid', '--die-with-parent', '--cap-drop', 'ALL'],
      ...['--json-status-fd', '3', ...all.flatMap(({ flags }) => flags)],
      ...(isCwdShown ? [] : ['--dir', cwd]),
      ...['--chdir', '/', '--remount-ro', '/', '--'],
    ] as unknown as [string, ...string[]],
    sources: [
      ...all.flatMap(({ flags, isOfHost }) => (isOfHost && flags[0]!.includes('bind') ? flags[1]! : [])),
      ...covers.map(({ path }) => path),
    ],
    own: {
      tmpBytes: isHosts(PRIVATE_TMP) ? undefined : temporarySize(temporaryBytes, 1 - SHARED_MEMORY_SHARE),
      sharedMemoryBytes: temporarySize(temporaryBytes, SHARED_MEMORY_SHARE),
      network: !policy.network,
      belowTmp: outermost(all.map(({ path }) => path).filter(isInTmp)),
    },
  };
}

function isInTmp(path: string): boolean {
  return path.startsWith(`${PRIVATE_TMP}/`);
}

/** The paths that are not inside another; the outer ones come first. */
function outermost(paths: readonly string[]): string[] {
  const found: string[] = [];
  for (const path of paths) if (!found.some((outer) => path.startsWith(`${outer}/`))) found.push(path);
  return found;
}

function temporarySize(temporaryBytes: number, share: number): number {
  return Math.max(1, Math.floor(temporaryBytes * share));
}

interface Mount {
  readonly path: string;
  readonly flags: readonly string[];
  /** Whether it shows the host's content, or its own. */
  readonly isOfHost: boolean;
}

/** An outer folder comes before those in it, or it would cover them. */
function mounts({ policy, covers = [], code, accounts, temporaryBytes }: SandboxRequest): Mount[] {
  const found = new Map<string, Mount>();
  const add = (mount: Mount) => found.set(mount.path, mount);
  for (const mount of privateMounts(temporaryBytes)) add(mount);
  for (const path of policy.read) add({ path, flags: ['--ro-bind-try', path, path], isOfHost: true });
  for (const path of policy.write.filter((each) => !isShownBy(policy.write, each)))
    add({ path, flags: ['--bind-try', path, path], isOfHost: true });
  // Paths in a folder of the policy keep the policy's access, which may be writable.
  const addUnlessShown = (mount: Mount) => {
    if (nearest(mount.path, found)?.isOfHost !== true) add(mount);
  };
  for (const mount of coverMounts(policy, covers)) add(mount);
  systemMounts().forEach(addUnlessShown);
  const readOnly = (source: string, path = source): Mount => ({
    path,
    flags: ['--ro-bind-try', source, path],
    isOfHost: true,
  });
  const named = policy.network ? NETWORK_SETTINGS : [];
  for (const path of named) addUnlessShown(readOnly(path));
  for (const name of accounts === undefined ? [] : ACCOUNTS)
    if (!named.includes(`/etc/${name}`)) addUnlessShown(readOnly(join(accounts!, name), `/etc/${name}`));
  for (const path of code) addUnlessShown({ path, flags: ['--ro-bind-try', path, path], isOfHost: true });
  return [...found.values()].sort((a, b) => depthOf(a.path) - depthOf(b.path));
}

/** The mounts over the folders of a policy; a folder and its content may be named by different paths. */
function coverMounts({ read, write }: SandboxRequest['policy'], covers: readonly Cover[]): Mount[] {
  if (covers.length === 0) return [];
  const writable = new Set(write);
  const folders = [...read, ...write.filter((each) => !isShownBy(write, each))];
  const shown = [...new Set(folders)].map((path) => ({ path, real: realPath(path) }));
  for (const { path } of covers)
    if (realPath(path) !== path)
      throw new Error(
        `${path} was replaced by a symbolic link, or is behind one, while it was being protected`,
      );
  return covers.flatMap(({ path: source, as }) =>
    shown.flatMap(({ path: folder, real }) => {
      if (source !== real && !source.startsWith(real === '/' ? real : `${real}/`)) return [];
      if (as === 'pinned' && (source === real || !writable.has(folder))) return [];
      const path = join(folder, source.slice(real.length));
      return { path, flags: coverFlags(as, source, path), isOfHost: true };
    }),
  );
}

/** Whether it is inside another folder of the list. Its own mount would follow a link that replaced it. */
function isShownBy(folders: readonly string[], path: string): boolean {
  const real = realPath(path);
  return folders.some((other) => path.startsWith(`${other}/`) && real.startsWith(`${realPath(other)}/`));
}

function coverFlags(as: Cover['as'], source: string, path: string): string[] {
  switch (as) {
    case 'pinned':
      return ['--bind-try', source, path];
    case 'read-only':
      return ['--ro-bind-try', source, path];
    case 'empty-folder':
      return ['--perms', '0555', '--size', EMPTY_BYTES, '--tmpfs', path, '--remount-ro', path];
    case 'empty-file':
      return ['--ro-bind', '/dev/null', path];
  }
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/** What a program finds at a path: the mount of the innermost folder around it. */
function nearest(path: string, found: ReadonlyMap<string, Mount>): Mount | undefined {
  for (let folder = path; ; folder = dirname(folder)) {
    const mount = found.get(folder);
    if (mount !== undefined || folder === dirname(folder)) return mount;
  }
}

function depthOf(path: string): number {
  return path.split(sep).filter((part) => part !== '').length;
}

function privateMounts(temporaryBytes: number): Mount[] {
  const size = (share: number) => ['--size', String(temporarySize(temporaryBytes, share))];
  const dev = ['--dev', '/dev', ...size(SHARED_MEMORY_SHARE), '--tmpfs', '/dev/shm', '--remount-ro', '/dev'];
  const temporary = [...size(1 - SHARED_MEMORY_SHARE), '--perms', '1777', '--tmpfs', PRIVATE_TMP];
  return [
    { path: '/proc', flags: ['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys'], isOfHost: false },
    { path: '/dev', flags: dev, isOfHost: false },
    { path: PRIVATE_TMP, flags: temporary, isOfHost: false },
  ];
}

let system: Mount[] | undefined;

function systemMounts(): readonly Mount[] {
  system ??= [...SYSTEM_FOLDERS, ...SETTINGS].flatMap((path) => {
    const kind = lstatSync(path, { throwIfNoEntry: false });
    if (kind === undefined) return [];
    // `/bin` is usually a link into `/usr`. A linked setting may lead to something that is not mounted.
    const isLink = kind.isSymbolicLink() && SYSTEM_FOLDERS.includes(path);
    const flags = isLink ? ['--symlink', readlinkSync(path), path] : ['--ro-bind-try', path, path];
    return [{ path, flags, isOfHost: true }];
  });
  return system;
}
