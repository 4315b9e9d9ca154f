import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { regionsOf } from '../test/docs/regions.ts';

/** Copies the regions of `examples/docs` into the code blocks of the README and the docs that name them. */
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const BLOCK = /^```(\w+ file=(\S+) region=(\S+))\n[\s\S]*?^```$/gm;

const pages = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)];
for (const page of pages.filter((path) => path.endsWith('.md'))) {
  const before = readFileSync(join(ROOT, page), 'utf8');
  const after = before.replace(BLOCK, (_, info: string, file: string, region: string) => {
    const text = regionsOf(file).get(region);
    if (text === undefined) throw new Error(`${page}: ${file} has no region ${region}.`);
    return `\`\`\`${info}\n${text}\`\`\``;
  });
  if (after !== before) writeFileSync(join(ROOT, page), after);
}
