import { readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Action } from '../src/batch/actions/define-action.ts';

const FOLDER = new URL('../src/batch/actions/', import.meta.url);
const NOTE = `// Generated from the definitions in this folder by \`npx tsx scripts/generate-actions.ts\`: do not edit.`;
const LINE_WIDTH = 110;

interface Found {
  readonly file: string;
  /** The name of its export. */
  readonly constant: string;
  readonly action: Action;
}

/** The lists of all actions, by the name of their file. */
export async function actionLists(): Promise<Readonly<Record<string, string>>> {
  const found = await findActions();
  return { 'all.ts': lightList(found), 'definitions.ts': wholeList(found) };
}

/** Whatever file of the folder exports a definition. */
async function findActions(): Promise<Found[]> {
  const found: Found[] = [];
  for (const file of readdirSync(FOLDER)) {
    if (file === 'all.ts' || file === 'definitions.ts') continue;
    for (const [constant, value] of Object.entries(await import(new URL(file, FOLDER).href))) {
      const action = value as Partial<Action>;
      if (typeof action.order === 'number') found.push({ file, constant, action: action as Action });
    }
  }
  return found.sort((a, b) => a.action.order - b.action.order);
}

function lightList(found: readonly Found[]): string {
  const entries = found.map(({ file, constant, action: { name, summary, scope, hints, cli } }) => {
    const hint = Object.entries(hints).map(([key, value]) => `${key}: ${value}`);
    return [
      '  {',
      `    name: ${quoted(name)},`,
      property(4, 'summary', quoted(summary)),
      `    scope: ${quoted(scope)},`,
      `    hints: {${hint.length === 0 ? '' : ` ${hint.join(', ')} `}},`,
      ...cliLines(cli.summary ?? summary, cli.group),
      `    load: async () => (await import('./${file}')).${constant},`,
      '  },',
    ].join('\n');
  });
  return `${NOTE}

import type { ActionEntry } from './define-action.ts';

/** What \`batch_executor_tool\` can be asked for. Definitions are loaded on demand, so that commands start quickly. */
export const ACTIONS = [
${entries.join('\n')}
] as const satisfies readonly ActionEntry[];

export type ActionName = (typeof ACTIONS)[number]['name'];
`;
}

function wholeList(found: readonly Found[]): string {
  const imports = [...found]
    .sort((a, b) => (stem(a.file) < stem(b.file) ? -1 : 1))
    .map(({ file, constant }) => `import { ${constant} } from './${file}';`);
  return `${NOTE}

${imports.join('\n')}

/** All definitions, loaded at once. Commands use the lazy list in all.ts instead. */
export const DEFINITIONS = [
${found.map(({ constant }) => `  ${constant},`).join('\n')}
] as const;
`;
}

function cliLines(summary: string, group: string): string[] {
  const line = `    cli: { summary: ${quoted(summary)}, group: ${quoted(group)} },`;
  if (line.length <= LINE_WIDTH) return [line];
  return ['    cli: {', property(6, 'summary', quoted(summary)), `      group: ${quoted(group)},`, '    },'];
}

function property(indent: number, name: string, value: string): string {
  const line = `${' '.repeat(indent)}${name}: ${value},`;
  return line.length <= LINE_WIDTH
    ? line
    : `${' '.repeat(indent)}${name}:\n${' '.repeat(indent + 2)}${value},`;
}

function stem(file: string): string {
  return file.replace(/\.ts$/, '');
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, text] of Object.entries(await actionLists())) writeFileSync(new URL(file, FOLDER), text);
}
