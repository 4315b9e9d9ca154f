import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import { bundle, ENTRIES, isPackage } from './bundle.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const DIST = join(ROOT, 'dist');
const TYPES = join(ROOT, 'node_modules/.cache/volley-types');

// The first thing that `npm run demo` shows: checking the types takes a while.
console.log('Building Volley. This takes about half a minute.');
for (const folder of [DIST, TYPES]) rmSync(folder, { recursive: true, force: true });
const check = spawnSync(
  process.execPath,
  [join(ROOT, 'node_modules/typescript/bin/tsc'), ...['-p', 'tsconfig.build.json', '--outDir', TYPES]],
  { cwd: ROOT, stdio: 'inherit' },
);
if (check.status !== 0) process.exit(check.status ?? 1);

const withInternals = process.argv.includes('--internals');
// Benchmarks time parts that the package does not export.
await bundle(DIST, withInternals ? { internals: 'bench/internals.ts' } : {});
if (withInternals) writeFileSync(join(DIST, 'internals.d.ts'), "export * from '../bench/internals.ts';\n");
await bundleTypes();

/** One file of declarations for each entry, and one that they share. */
async function bundleTypes(): Promise<void> {
  const entries = ENTRIES.filter((entry) => /(^|\/)index$/.test(entry));
  const build = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry, join(TYPES, `${entry}.d.ts`)])),
    external: isPackage,
    plugins: [dts({ dtsInput: true, tsconfig: false })],
    checks: { pluginTimings: false },
  });
  await build.write({
    dir: DIST,
    format: 'esm',
    entryFileNames: '[name].d.ts',
    chunkFileNames: 'chunks/[name].d.ts',
  });
  await build.close();
}
