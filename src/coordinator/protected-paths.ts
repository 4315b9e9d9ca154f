import { basename, dirname, join, resolve } from 'node:path';
import picomatch from 'picomatch';
import type { VolleyConfig } from '../config/config.ts';
import type { ProtectedPath } from '../tools/builtin/environment.ts';
import { isInside } from '../tools/builtin/real-path.ts';

/** What Volley itself reads and runs: its settings, its store and the modules. A tool that wrote there would rule it. */
export function protectedPathsOf({ folder, store, tools }: VolleyConfig): ProtectedPath[] {
  return [
    { path: join(folder, 'volley.toml') },
    { path: join(folder, '.volley') },
    // Its folder may hold other things; SQLite has a few files next to it whose names begin the same.
    { path: dirname(store.file), glob: `${escaped(basename(store.file))}*` },
    // What a server leaves there admits to everything.
    { path: dirname(store.file), glob: `${escaped(basename(store.file))}-server*.json`, isSecret: true },
    ...tools.modules.flatMap((pattern) => protectedModules(pattern, folder, tools.roots)),
  ];
}

function protectedModules(pattern: string, folder: string, roots: readonly string[]): ProtectedPath[] {
  // As where modules are looked for: a file may have that very name, whatever a glob would make of it.
  const exact = { path: resolve(folder, pattern) };
  const { base, glob, isGlob } = picomatch.scan(pattern);
  if (!isGlob) return [exact];
  const path = resolve(folder, base);
  // What modules import mostly stands with them; but where a whole root does, tools must still be able to write.
  const holdsRoot = roots.some((root) => isInside(root, path));
  return [exact, holdsRoot ? { path, glob } : { path }];
}

function escaped(name: string): string {
  return name.replace(/[^\w.]/g, '\\$&');
}
