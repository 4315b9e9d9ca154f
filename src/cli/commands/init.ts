import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { reasonText } from '../../core/words.ts';
import { EXIT } from '../output/io.ts';
import { programName } from '../output/wording.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';

const SCHEMA = 'docs/volley.schema.json';

const CONFIG = `# Volley's configuration. Every key is optional; the schema above describes all of them.

[limits]
# How many calls may run at once.
max_concurrency = 64

[defaults]
# The time limit of one attempt, and how often a failed call is retried.
timeout_ms = 300_000
retry = { max_retries = 0 }

[tools]
# The folders that file tools and processes may use.
roots = ["."]
# Your own tools: modules that export the results of defineTool().
# modules = ["./tools/*.mjs"]

[tools.shell]
# Commands can reach beyond the roots, so they are off by default.
enabled = false

[tools.http_request]
enabled = false
`;

const EXAMPLE = `{
  "max_concurrent": 4,
  "tasks": [
    { "id": "list", "name": "List this folder", "function": "list_directory", "params": { "path": "." } },
    { "id": "config", "name": "Read the configuration", "function": "read_file", "params": { "path": "volley.toml" } },
    {
      "id": "copy",
      "name": "Write down its size",
      "function": "write_file",
      "params": { "path": "volley-example.txt", "content": "volley.toml has \${config.total_bytes} bytes\\n" }
    }
  ]
}
`;

export const initCommand = defineCommand<CommonOptions>({
  examples: ['volley init && volley run volley-example.json'],
  declare: () => undefined,
  run: async (_, { json }, { cwd, stdout, env }) => {
    const written: string[] = [];
    const kept: string[] = [];
    for (const [name, text] of [
      ['volley.toml', `#:schema ${schemaAddress(cwd)}\n${CONFIG}`],
      ['volley-example.json', EXAMPLE],
    ] as const) {
      const list = (await isWritten(join(cwd, name), text)) ? written : kept;
      list.push(name);
    }
    const sentences = [
      written.length > 0 && `Wrote ${written.join(' and ')}.`,
      kept.length > 0 && `Kept the existing ${kept.join(' and ')}.`,
      `Try: ${programName({ env })} run volley-example.json`,
    ];
    if (json) stdout.writeJson({ ok: true, written, kept });
    else stdout.write(`${sentences.filter(Boolean).join(' ')}\n`);
    return EXIT.ok;
  },
});

/** Writes a file unless it exists, and returns whether it did. */
async function isWritten(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new VolleyError('INVALID_VALUE', `Cannot write ${path}: ${reasonText(error)}.`);
  }
}

/** The address of the schema for editors: relative if the project has the package, so that it works for everybody. */
function schemaAddress(cwd: string): string {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const file = join(folder, 'node_modules/volley', SCHEMA);
    if (existsSync(file)) {
      const path = relative(cwd, file).replaceAll('\\', '/');
      return path.startsWith('.') ? path : `./${path}`;
    }
    if (folder === dirname(folder)) return new URL(`../../../${SCHEMA}`, import.meta.url).href;
  }
}
