import { chmodSync, cpSync } from 'node:fs';

// What the compiler leaves behind: files that are no TypeScript but belong to the package.
const ASSETS = ['runners/process/launcher.pl', 'cli/mcp/client-watch.pl'];

for (const asset of ASSETS) {
  cpSync(new URL(`../src/${asset}`, import.meta.url), new URL(`../dist/${asset}`, import.meta.url));
}
// npm does this where the package is installed; in the checkout itself `npx volley` needs it, too.
chmodSync(new URL('../dist/cli/main.js', import.meta.url), 0o755);
