#!/usr/bin/env node
import { lstatSync, mkdirSync } from 'node:fs';
import nodeModule from 'node:module';
import { join } from 'node:path';
import { userFolder } from '../config/user-folder.ts';

useCompileCache();
const { runCommandLine } = await import('./command-line.ts');
await runCommandLine();

/**
 * Keeps compiled code for the next start, where Node can do that (from 22.1). Whoever can write there can run code as this
 * user, so it is in Volley's own folder, which no tool can write, and never in one that another user can write.
 */
function useCompileCache(): void {
  const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => unknown };
  if (enableCompileCache === undefined) return;
  try {
    const folder = join(userFolder(), 'compile-cache');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const stats = lstatSync(folder);
    if (stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o022) === 0)
      enableCompileCache(folder);
  } catch {
    // Without a home folder that can be written, it only starts more slowly.
  }
}
