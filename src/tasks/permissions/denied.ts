import { join } from 'node:path';
import type { VolleyConfig } from '../../config/config.ts';
import { PROTECTED_RULES, ProtectedPaths } from '../../config/protected-paths.ts';
import { realAsFarAsItExists } from '../../tools/builtin/roots.ts';
import { pathMatcher } from './path-matcher.ts';

/**
 * Those of the paths that no agent may touch. Upper and lower case are the same here, for on many systems they name the
 * same file, and a path above the project counts as if it stood in it.
 */
export function deniedAmong(paths: readonly string[], patterns: readonly string[]): string[] {
  const isDenied = pathMatcher(patterns, true);
  return paths.filter((path) => isDenied(withinProject(path)));
}

/** What no agent of a project may touch: what the user denies, and what is protected from agents. */
export class DeniedPaths {
  private readonly project: string;
  private readonly protection: ProtectedPaths;
  private readonly patterns: readonly string[];

  constructor(
    config: VolleyConfig,
    project: string,
    /** What is denied besides. */
    more: readonly string[] = [],
  ) {
    this.project = realAsFarAsItExists(project);
    const tools = { ...config.tools, roots: [project] };
    this.protection = new ProtectedPaths({ ...config, tools }, 'agents');
    this.patterns = [...config.tasks.deniedPaths, ...more];
  }

  /** Paths of the project, or of a worktree of it. */
  among(paths: readonly string[]): string[] {
    const denied = new Set(deniedAmong(paths, this.patterns));
    return paths.filter((path) => denied.has(path) || this.isProtected(path));
  }

  /** What the user would have to change for these to be allowed. */
  remedyFor(paths: readonly string[]): string {
    return paths.every((path) => this.isProtected(path))
      ? 'add it to writable in [tools] of volley.toml'
      : 'remove it from denied_paths in [tasks] of volley.toml';
  }

  /** The same for agents that can keep to globs. */
  get globs(): string[] {
    const named = PROTECTED_RULES.filter(({ agents }) => agents === 'protected').map(
      ({ pattern }) => pattern,
    );
    // Perhaps a setting has made it writable.
    const isDenied = (pattern: string) => this.isProtected(pattern.replaceAll('*', 'x'));
    return [...this.patterns, ...named.filter(isDenied).map((pattern) => `**/${pattern}`)];
  }

  private isProtected(path: string): boolean {
    const place = join(this.project, withinProject(path));
    // Volley itself writes the store while agents work.
    return !this.protection.isStore(place) && this.protection.protects(place) !== undefined;
  }
}

function withinProject(path: string): string {
  return path.replace(/^(\.\.\/)+/, '');
}
