import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  configJsonSchema,
  type Key,
  type OutlineTable,
  type SchemaNode,
  tablesOf,
  validRange,
} from '../src/config/outline.ts';
import { valueText } from '../src/config/toml-text.ts';

const PAGE = new URL('../docs/configuration.md', import.meta.url);
const SCHEMA = new URL('../docs/volley.schema.json', import.meta.url);
const EXAMPLE = new URL('../docs/volley.example.toml', import.meta.url);
const LINE_WIDTH = 110;

/** The page `docs/configuration.md`, made from the schema. */
export function configurationPage(): string {
  const example = readFileSync(EXAMPLE, 'utf8').replaceAll('\r\n', '\n');
  return `# Configuration

Volley reads \`volley.toml\`: the nearest one in the working directory or above it. Everything has a default, so there
need not be one. A file looks like this; yours needs only what it changes:

\`\`\`toml
${example.trimEnd()}
\`\`\`

Relative paths start at the folder of the file, or at the working directory if there is no file.

Settings that could run code or reach outside the folder take effect only after you approve them with \`volley trust\`; see [trust](trust.md).

## Environment variables

An environment variable can set any key and takes precedence over the file. Its name is \`VOLLEY_\`, then the tables and
the key in capitals, joined by \`_\`. So \`VOLLEY_LIMITS_MAX_CONCURRENCY=8\` is \`max_concurrency = 8\` in \`[limits]\`.

- Separate the items of a list by commas, or write it as JSON: \`VOLLEY_TOOLS_DENY=shell,write_*\` or
  \`VOLLEY_TOOLS_DENY='["shell"]'\`. \`[]\` is the empty list.
- \`true\` and \`1\` are true, \`false\` and \`0\` are false.
- An empty variable counts as not set.
- \`<NAME>\` is the name of a tool or a group: as in the file, but in capitals and with \`_\` for every other character.
  If the file does not mention the name, it is taken in lowercase.
- A variable that names a section but no setting in it is an error, because it is most likely a typo. So is one that is
  nearly the name of a setting. Other variables that begin with \`VOLLEY_\` are ignored.

## When something is wrong

File and environment are checked together, and all problems are shown at once. Nothing starts until you have fixed them,
except that \`volley status\` only needs the place of the store:

\`\`\`text
volley.toml:2:1: unknown key limits.max_concurency. Did you mean max_concurrency?
  2 | max_concurency = 8
    | ^^^^^^^^^^^^^^

VOLLEY_THREADS_MAX: threads.max must be a whole number from 1 to 1024, but it is "many".
\`\`\`

## Changes while Volley runs

If the file is watched, a change of \`[limits]\` takes effect at once: running calls keep their resources, and waiting ones
are checked again. Other keys need a restart, and Volley says which. An invalid file changes nothing.

## Editors

[volley.schema.json](volley.schema.json) is a JSON Schema of the file: editors with a TOML extension complete keys and
show these descriptions. Name it in the first line, as the example does.

This page and the JSON Schema are generated from the schema in \`src/config\` by
\`npx tsx scripts/generate-configuration.ts\`.

${tablesOf()
  .filter(({ keys }) => keys.length > 0)
  .map(tableText)
  .join('\n')}`;
}

/** The file `docs/volley.schema.json`. */
export function configurationSchema(): string {
  const text = JSON.stringify(configJsonSchema(), null, 2);
  // As the formatter of this repository writes it: a list stands on one line where it fits.
  const compact = text
    .replace(/^( *)(.*)\[\n([^[\]{}]*)\n *\]/gm, onOneLine)
    .replace(/^( *)(.*)\[\n([^{}\n]*)\n *\]/gm, onOneLine);
  return `${compact}\n`;
}

function onOneLine(whole: string, indent: string, before: string, items: string): string {
  const line = `${before}[${items.trim().replace(/,\n\s*/g, ', ')}]`;
  return indent.length + line.length < LINE_WIDTH ? indent + line : whole;
}

function tableText({ path, node, keys }: OutlineTable): string {
  return `## [${nameText(path)}]

${node.description}

${keys.map(keyText).join('\n')}`;
}

function keyText({ path, node, variable }: Key): string {
  return `### ${nameText(path)}

${node.description}

- Type: ${typeText(node)}
- Default: ${defaultText(path, node)}
- Variable: ${path.filter((part) => part === '*').length > 1 ? 'none' : `\`${variable}\``}
`;
}

function nameText(path: readonly string[]): string {
  return path.map((part) => (part === '*' ? 'NAME' : part)).join('.');
}

function typeText(node: SchemaNode): string {
  switch (node.type) {
    case 'integer':
      return `whole number ${validRange(node)}`;
    case 'number':
      return `number ${validRange(node)}`;
    case 'boolean':
      return '`true` or `false`';
    case 'array':
      return `list of texts${node.minItems ? ', not empty' : ''}, for example \`${valueText(node.examples?.[0])}\``;
    default:
      return node.enum === undefined ? 'text' : node.enum.map((name) => `\`"${name}"\``).join(', ');
  }
}

function defaultText(path: readonly string[], node: SchemaNode): string {
  if (node.defaultText !== undefined) return node.defaultText;
  if (node.default === undefined) return `none; needed where \`${path.at(-2)}\` is given`;
  return `\`${Array.isArray(node.default) ? listOf(node.default) : valueText(node.default)}\``;
}

/** In full, however long. */
function listOf(values: readonly unknown[]): string {
  return `[${values.map(valueText).join(', ')}]`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(PAGE, configurationPage());
  writeFileSync(SCHEMA, configurationSchema());
}
