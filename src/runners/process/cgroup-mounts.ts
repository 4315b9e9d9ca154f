import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** A tree of cgroups that is mounted here. */
export interface CgroupMount {
  readonly version: 1 | 2;
  readonly mountPoint: string;
  /** The folder of the group in which this process is. */
  readonly ownFolder: string;
  /** Of version 1: the controllers of this tree. */
  readonly controllers: readonly string[];
}

/** The trees that this process can see. Empty where there are no cgroups, as on other systems. */
export function findCgroupMounts(): CgroupMount[] {
  try {
    return parseCgroupMounts(
      readFileSync('/proc/self/mountinfo', 'utf8'),
      readFileSync('/proc/self/cgroup', 'utf8'),
    );
  } catch {
    return [];
  }
}

/** From the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`. */
export function parseCgroupMounts(mountinfo: string, membership: string): CgroupMount[] {
  const paths = new Map<string, string>();
  for (const line of membership.split('\n')) {
    const [, names, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (names !== undefined) for (const name of names.split(',')) paths.set(name, path!);
  }
  const mounts: CgroupMount[] = [];
  for (const line of mountinfo.split('\n')) {
    const [mount, kind] = line.split(' - ') as [string, string | undefined];
    const [, , , root, mountPoint] = mount.split(' ').map(unescapeSpaces);
    const [type, , options] = kind?.split(' ') ?? [];
    if (mountPoint === undefined || (type !== 'cgroup' && type !== 'cgroup2')) continue;
    const controllers = type === 'cgroup' ? (options ?? '').split(',') : [];
    const path =
      type === 'cgroup2' ? paths.get('') : paths.get(controllers.find((name) => paths.has(name)) ?? '');
    mounts.push({
      version: type === 'cgroup2' ? 2 : 1,
      mountPoint,
      ownFolder: resolve(mountPoint, `.${below(root!, path ?? '/')}`),
      controllers,
    });
  }
  return mounts;
}

/** The folders from this process's own group up to the mount, the nearest first. */
export function foldersUpwards({ ownFolder, mountPoint }: CgroupMount): string[] {
  const folders = [ownFolder];
  for (let folder = ownFolder; folder.startsWith(`${mountPoint}/`); ) {
    folder = dirname(folder);
    folders.push(folder);
  }
  return folders;
}

/** In a container the mount shows only a part of the tree; what lies outside counts as its top. */
function below(root: string, path: string): string {
  if (root === '/') return path;
  if (path === root) return '/';
  return path.startsWith(`${root}/`) ? path.slice(root.length) : '/';
}

function unescapeSpaces(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
