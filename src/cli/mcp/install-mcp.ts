import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import type { McpOptions } from '../commands/mcp.ts';
import { confirm } from '../confirm.ts';
import { EXIT, type ExitStatus, type Io } from '../io.ts';
import { changeText } from './install/change-text.ts';
import { type InstallScope, MCP_CLIENTS, type McpClient } from './install/clients.ts';
import { type InstallPlan, planInstall } from './install/plan-install.ts';
import { startFor } from './install/start-command.ts';
import { writeConfig } from './install/write-config.ts';

/** Writes the entry for Volley into the configuration of a client, after showing what changes. */
export async function installMcp(
  name: string | undefined,
  { scope: given, print = false, yes = false, json = false }: McpOptions,
  io: Io,
): Promise<ExitStatus> {
  const client = clientOf(name);
  const scope = scopeOf(given) ?? client.scope;
  const { start, remark } = startFor(scope, io.cwd);
  const plan = await planInstall(client, client.file(scope, io), start);
  const tell = (text: string, data: object) => {
    const answer = { ok: true, client: client.name, file: plan.file, ...data, remark: remark ?? null };
    if (json) io.stdout.writeJson(answer);
    else io.stdout.write(text);
    if (!json && remark !== undefined) io.stderr.write(`${remark}\n`);
  };
  if (print) {
    tell(`# ${plan.file}\n${plan.entryText}`, { entry: plan.entryText });
    return EXIT.ok;
  }
  if (plan.before === plan.after) {
    tell(`${client.title} knows Volley already: ${plan.file}\n`, { changed: false });
    return EXIT.ok;
  }
  if (!json) showChange(plan, io);
  if (!yes && (json || !io.stdin.isTTY))
    throw new VolleyError('INVALID_VALUE', 'Nothing was written: there is nobody to ask, so give --yes.');
  const answer = yes ? 'yes' : await confirm('Write this?', io);
  if (answer !== 'yes') {
    // Only who has answered is on a new line.
    io.stdout.write(`${answer === 'no' ? '' : '\n'}Nothing was written.\n`);
    return answer === 'interrupted' ? EXIT.interrupted : EXIT.ok;
  }
  const backup = await writeConfig(plan);
  const kept = backup === undefined ? '' : ` What it was is in ${backup}.`;
  tell(`Wrote ${plan.file}.${kept} Restart ${client.title}, and it has the tools of Volley.\n`, {
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
    `${name === undefined ? 'Say for which client' : `There is no client ${JSON.stringify(name)}`}: ${close === undefined ? `there are ${names.join(', ')}.` : `did you mean ${close}?`}`,
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

function showChange({ file, before = '', after }: InstallPlan, { stdout }: Io): void {
  stdout.write(`${file}\n${changeText(before, after)}\n`);
}
