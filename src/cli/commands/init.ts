import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { reasonText } from '../../core/words.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { EXIT } from '../io.ts';
import { ownName } from '../output/own-name.ts';

const SCHEMA = 'docs/volley.schema.json';

const CONFIG = `# Volley's configuration. Every key has a default; the schema above tells of them all.

[limits]
# How many calls may run at once, whatever they need.
max_concurrency = 64

[defaults]
# How long one attempt may take, and how often a failed one is tried again.
timeout_ms = 300_000
retry = { max_retries = 0 }

[tools]
# The folders in which file tools and processes may work.
roots = ["."]
# Your own tools: modules that export what defineTool() returns.
# modules = ["./tools/*.mjs"]

[tools.shell]
# Commands reach beyond the roots: switch them on if you want them.
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
    const said = [
      written.length > 0 && `Wrote ${written.join(' and ')}.`,
      kept.length > 0 && `Left ${kept.join(' and ')} as found.`,
      `Try: ${ownName({ env })} run volley-example.json`,
    ];
    if (json) stdout.writeJson({ ok: true, written, kept });
    else stdout.write(`${said.filter(Boolean).join(' ')}\n`);
    return EXIT.ok;
  },
});

/** Writes a file unless there is one. */
async function isWritten(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new VolleyError('INVALID_VALUE', `${path} cannot be written: ${reasonText(error)}.`);
  }
}

/** Where editors find the schema: in the installed package if there is one, so that it is right for others of the project. */
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
