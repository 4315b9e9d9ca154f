import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { Cover, SandboxPolicy } from '../runner.ts';

/** How bubblewrap is called on this machine; found by trying. */
export interface Bubblewrap {
  readonly program: string;
  /** Which forms of the user namespace it can make here. */
  readonly userFlags: readonly string[];
}

/** The forms that are tried, the strictest first. The last is for root where user namespaces are switched off. */
export const USER_FLAGS: readonly (readonly string[])[] = [
  ['--unshare-user', '--disable-userns'],
  ['--unshare-user'],
  [],
];

export interface SandboxRequest {
  readonly policy: Pick<SandboxPolicy, 'read' | 'write' | 'network'>;
  /** What is protected inside the folders of the policy. */
  readonly covers?: readonly Cover[];
  /** A folder with the files `passwd`, `group` and `hosts` that the program finds in `/etc`. */
  readonly accounts?: string | undefined;
  /** Folders and files that the program itself needs: Node, the tool's module. */
  readonly code: readonly string[];
  readonly cwd: string;
  /** How much its private folders for temporary files may hold together. */
  readonly temporaryBytes: number;
  /** Where bubblewrap says that it started the program, and how that ended; the program does not get it. */
  readonly statusDescriptor?: number | undefined;
}

/** Where a program finds its private folder for temporary files. */
export const PRIVATE_TMP = '/tmp';

/** How much of the room for temporary files is in `/dev/shm`. */
const SHARED_MEMORY_SHARE = 0.25;

const SYSTEM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];
/** Of `/etc` only what programs need to start and to trust certificates. Docs/tools.md lists it. */
const SETTINGS = ['ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'alternatives', 'nsswitch.conf', 'localtime']
  .concat(
    'ca-certificates',
    // Of these folders no more: private keys lie next to the certificates.
    'ssl/certs',
    'ssl/openssl.cnf',
    'pki/tls/certs',
    'pki/tls/openssl.cnf',
    'pki/ca-trust',
    'mime.types',
    'services',
  )
  .map((name) => `/etc/${name}`);
/** Names of other machines, for programs that may ask them. */
const NETWORK_SETTINGS = ['/etc/hosts', '/etc/resolv.conf'];
/** Describes the current user, and no others. */
const ACCOUNTS = ['passwd', 'group', 'hosts'];
/** An empty folder in the place of a hidden one needs no room. */
const EMPTY_BYTES = '4096';

/**
 * The arguments with which bubblewrap runs a program: it sees the system's folders and its own code read-only, what the
 * policy names, and nothing else; no other process, no network unless allowed, no capabilities.
 *
 * Started by root it stays root's uid, so that it can write what root owns, but root of a namespace that owns nothing:
 * `/proc/sys` would still let that uid change the kernel's settings, hence the read-only copy over it.
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

interface Mount {
  readonly path: string;
  readonly flags: readonly string[];
  /** Whether it shows what the host has there, or something of its own. */
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
  // What lies in a folder of the policy stays as the policy has it: perhaps writable.
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

/** What is put over the folders of a policy; a folder may be named by another way than the one to what is in it. */
function coverMounts({ read, write }: SandboxRequest['policy'], covers: readonly Cover[]): Mount[] {
  if (covers.length === 0) return [];
  const writable = new Set(write);
  const folders = [...read, ...write.filter((each) => !isShownBy(write, each))];
  const shown = [...new Set(folders)].map((path) => ({ path, real: realPath(path) }));
  for (const { path } of covers)
    if (realPath(path) !== path)
      throw new Error(
        `${path} was replaced by a symbolic link, or stands behind one, while it was to be protected`,
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

/** Whether it is inside another folder of the list. A mount of its own would follow a link that was put in its place. */
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
  const size = (share: number) => ['--size', String(Math.max(1, Math.floor(temporaryBytes * share)))];
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
    // `/bin` is most often a link into `/usr`. A setting that is a link may lead to where nothing is shown.
    const isLink = kind.isSymbolicLink() && SYSTEM_FOLDERS.includes(path);
    const flags = isLink ? ['--symlink', readlinkSync(path), path] : ['--ro-bind-try', path, path];
    return [{ path, flags, isOfHost: true }];
  });
  return system;
}
