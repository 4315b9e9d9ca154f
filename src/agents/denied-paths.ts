import { join } from 'node:path';
import type { VolleyConfig } from '../config/config.ts';
import { PROTECTED_RULES, ProtectedPaths } from '../config/protected-paths.ts';
import { realAsFarAsItExists } from '../tools/builtin/roots.ts';
import { patternMatcher } from '../tools/pattern/path-patterns.ts';

/** The paths that match. Ignores case, as many file systems do, and treats paths above the project as inside it. */
export function deniedAmong(paths: readonly string[], patterns: readonly string[]): string[] {
  return paths.filter(deniedMatcher(patterns));
}

function deniedMatcher(patterns: readonly string[]): (path: string) => boolean {
  const isDenied = patternMatcher(patterns, true);
  return (path) => isDenied(withinProject(path));
}

/** The paths that no agent may touch: those the user denies, and protected ones. */
export class DeniedPaths {
  private readonly project: string;
  private readonly protection: ProtectedPaths;
  private readonly patterns: readonly string[];
  private readonly isDenied: (path: string) => boolean;
  private knownGlobs: readonly string[] | undefined;

  constructor(
    config: VolleyConfig,
    project: string,
    /** Additional denied patterns. */
    more: readonly string[] = [],
  ) {
    this.project = realAsFarAsItExists(project);
    const tools = { ...config.tools, roots: [project] };
    this.protection = new ProtectedPaths({ ...config, tools }, 'agents');
    this.patterns = [...config.tasks.deniedPaths, ...more];
    this.isDenied = deniedMatcher(this.patterns);
  }

  /** Filters paths of the project or of one of its worktrees. */
  among(paths: readonly string[]): string[] {
    return paths.filter((path) => this.isDenied(path) || this.isProtected(path));
  }

  /** The setting that the user would have to change to allow these paths. */
  remedyFor(paths: readonly string[]): string {
    return paths.every((path) => this.isProtected(path))
      ? 'add it to writable in [tools] of volley.toml'
      : 'remove it from denied_paths in [tasks] of volley.toml';
  }

  /** The same as globs, for agents that support them. */
  get globs(): readonly string[] {
    this.knownGlobs ??= this.findGlobs();
    return this.knownGlobs;
  }

  private findGlobs(): string[] {
    const named = PROTECTED_RULES.filter(({ agents }) => agents === 'protected').map(
      ({ pattern }) => pattern,
    );
    // A setting may have made it writable.
    const isDenied = (pattern: string) => this.isProtected(pattern.replaceAll('*', 'x'));
    return [...this.patterns, ...named.filter(isDenied).map((pattern) => `**/${pattern}`)];
  }

  private isProtected(path: string): boolean {
    const place = join(this.project, withinProject(path));
    // Volley itself writes the store while agents run.
    return !this.protection.isStore(place) && this.protection.protects(place) !== undefined;
  }
}

function withinProject(path: string): string {
  return path.replace(/^(\.\.\/)+/, '');
}
