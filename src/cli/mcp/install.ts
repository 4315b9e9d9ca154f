import { constants, existsSync, realpathSync } from 'node:fs';
import { copyFile, mkdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { writeAtomically } from '../../config/atomic-write.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { confirm, EXIT, type ExitStatus, type Io } from '../output/io.ts';
import type { CommonOptions } from '../program/command.ts';
import { type InstallScope, MCP_CLIENTS, type McpClient, type StartCommand } from './clients.ts';
import { type InstallPlan, planInstall } from './edit-config.ts';

export interface McpOptions extends CommonOptions {
  readonly print?: boolean;
  readonly yes?: boolean;
  readonly scope?: string;
}

/** Adds Volley to the configuration of a client, after showing what changes. */
export async function installMcp(
  name: string | undefined,
  { scope: given, print = false, yes = false, json = false }: McpOptions,
  io: Io,
): Promise<ExitStatus> {
  const client = clientOf(name);
  const scope = scopeOf(given) ?? client.scope;
  const { start, remark } = startFor(scope, io.cwd);
  const needs = client.needs?.(scope, io);
  const plan = await planInstall(client, client.file(scope, io), start);
  const answer = (text: string, data: object) => {
    const common = { ok: true, client: client.name, file: plan.file, ...data, remark: remark ?? null };
    if (json) io.stdout.writeJson({ ...common, needs: needs ?? null });
    else io.stdout.write(text);
    if (json) return;
    for (const note of [needs, remark]) if (note !== undefined) io.stderr.write(`${note}\n`);
  };
  if (print) {
    answer(`# ${plan.file}\n${plan.entryText}`, { entry: plan.entryText });
    return EXIT.ok;
  }
  if (plan.before === plan.after) {
    answer(`${client.title} is already set up: ${plan.file}\n`, { changed: false });
    return EXIT.ok;
  }
  if (!json) io.stdout.write(`${plan.file}\n${diffText(plan.before ?? '', plan.after)}\n`);
  if (!yes && (json || !io.stdin.isTTY))
    throw new VolleyError(
      'INVALID_VALUE',
      'Nothing was written: this is not a terminal. Add --yes to write without asking.',
    );
  const decision = yes ? 'yes' : await confirm('Write this?', io);
  if (decision !== 'yes') {
    // Without an answer, the cursor is still on the line of the question.
    io.stdout.write(`${decision === 'no' ? '' : '\n'}Nothing was written.\n`);
    return decision === 'interrupted' ? EXIT.interrupted : EXIT.ok;
  }
  const backup = await writeConfig(plan);
  const saved = backup === undefined ? '' : ` The previous version is in ${backup}.`;
  answer(`Wrote ${plan.file}.${saved} Restart ${client.title} to use Volley.\n`, {
    changed: true,
    backup: backup ?? null,
  });
  return EXIT.ok;
}

function clientOf(name: string | undefined): McpClient {
  const names = MCP_CLIENTS.map((client) => client.name);
  const found = MCP_CLIENTS.find((client) => client.name === name);
  if (found !== undefined) return found;
  const close = name === undefined ? undefined : nearest(name, names);
  throw new VolleyError(
    'INVALID_VALUE',
    `${name === undefined ? 'Name a client' : `Unknown client ${JSON.stringify(name)}`}${close === undefined ? `: use ${names.slice(0, -1).join(', ')} or ${names.at(-1)}.` : `. Did you mean ${close}?`}`,
    { nearest: close },
  );
}

function scopeOf(given: string | undefined): InstallScope | undefined {
  if (given === undefined || given === 'project' || given === 'user') return given;
  throw new VolleyError(
    'INVALID_VALUE',
    `--scope must be "project" or "user", not ${JSON.stringify(given)}.`,
  );
}

/** How a client starts Volley, and what the user should know about it. */
interface Start {
  readonly start: StartCommand;
  readonly remark: string | undefined;
}

/**
 * The configuration of a project is shared, so npx starts what the project has installed, without downloads. Otherwise
 * the entry names this very program.
 */
export function startFor(scope: InstallScope, folder: string, program: string = process.argv[1]!): Start {
  if (scope === 'project' && isInstalledFor(folder))
    return { start: { command: 'npx', args: ['--no', 'volley', 'mcp'] }, remark: undefined };
  const path = realpathSync(program);
  return { start: { command: process.execPath, args: [path, 'mcp'] }, remark: remarkOn(scope, path) };
}

function remarkOn(scope: InstallScope, path: string): string | undefined {
  // Clearing the cache of npx removes it.
  if (path.includes(`${sep}_npx${sep}`))
    return `The entry names ${path}, which npx keeps only temporarily. Install Volley (npm install ${scope === 'project' ? '--save-dev' : '--global'} volley) and run this again.`;
  if (scope === 'user') return undefined;
  return 'Volley is not installed in this project, so the entry names the program on this machine. If you share the file, run npm install --save-dev volley, then run this again.';
}

/** Looks where npx does: in the folder and above it. */
function isInstalledFor(folder: string): boolean {
  if (existsSync(join(folder, 'node_modules/.bin/volley'))) return true;
  const above = dirname(folder);
  return above !== folder && isInstalledFor(above);
}

const CONTEXT = 2;

/** The changed lines with - and +, and a few around them. */
function diffText(before: string, after: string): string {
  const [old, new_] = [linesOf(before), linesOf(after)];
  let begin = 0;
  while (begin < old.length && begin < new_.length && old[begin] === new_[begin]) begin++;
  let end = 0;
  while (
    end < old.length - begin &&
    end < new_.length - begin &&
    old[old.length - 1 - end] === new_[new_.length - 1 - end]
  ) {
    end++;
  }
  return [
    ...old.slice(Math.max(0, begin - CONTEXT), begin).map((line) => `  ${line}`),
    ...old.slice(begin, old.length - end).map((line) => `- ${line}`),
    ...new_.slice(begin, new_.length - end).map((line) => `+ ${line}`),
    ...old.slice(old.length - end, old.length - end + CONTEXT).map((line) => `  ${line}`),
  ].join('\n');
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/);
}

/** Writes the file and returns the path of the backup, if there was a file. */
async function writeConfig({ file, before, after }: InstallPlan): Promise<string | undefined> {
  await mkdir(dirname(file), { recursive: true });
  // A link stays a link.
  const target = before === undefined ? file : await realpath(file);
  const backup = before === undefined ? undefined : await backUp(target);
  const mode = before === undefined ? 0o644 : (await stat(target)).mode & 0o777;
  writeAtomically(target, after, { mode });
  return backup;
}

/** Never replaces an older backup. */
async function backUp(file: string): Promise<string> {
  for (let number = 1; ; number++) {
    const backup = number === 1 ? `${file}.before-volley` : `${file}.before-volley-${number}`;
    try {
      await copyFile(file, backup, constants.COPYFILE_EXCL);
      return backup;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
