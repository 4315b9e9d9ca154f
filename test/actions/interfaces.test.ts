import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Action } from '../../src/batch/actions/define-action.ts';
import { DEFINITIONS } from '../../src/batch/actions/definitions.ts';
import { openRig } from '../batch/support/rig.ts';
import { folderWith, say } from '../cli/support/program.ts';
import { project } from '../e2e/support/project.ts';
import { dataOf } from '../mcp/server/support/mcp.ts';
import { connectStdio } from '../mcp/server/support/stdio-client.ts';
import { serve } from '../server/support/serve.ts';
import { CASES, FILE, type Step } from './cases.ts';

interface Answer {
  readonly ok: boolean;
  readonly data?: unknown;
  readonly code?: string | undefined;
}

type Send = (request: Step['request']) => Promise<Answer>;

interface ExecutorAnswer {
  readonly ok: boolean;
  readonly data: unknown;
  readonly error?: { readonly code: string };
}

/** Each way to ask for an action: over a real server, but for the library and the command line. */
const INTERFACES: Readonly<Record<string, () => Promise<Send>>> = {
  library: async () => {
    const { executor, folder } = await openRig();
    writeFileSync(join(folder, FILE.name), FILE.text);
    return async (request) => answerOf(await executor.handle(request));
  },
  HTTP: async () => {
    const { json, folder } = await serve();
    writeFileSync(join(folder, FILE.name), FILE.text);
    return async (request) => {
      const own = ownRoute(request);
      const { status, body } =
        own === undefined
          ? await json('POST', '/v1/actions', request)
          : await json(own.method, own.path, own.body);
      return status === 200 ? answerOf(body) : { ok: false, code: body.code };
    };
  },
  MCP: async () => {
    const { client } = await connectStdio(project({ [FILE.name]: FILE.text }), '2025-11-25');
    return async (request) =>
      answerOf(dataOf(await client.callTool({ name: 'batch_executor_tool', arguments: { ...request } })));
  },
  'command line': async () => {
    const folder = folderWith({ [FILE.name]: FILE.text });
    return async (request) => {
      const { argv, input } = commandLine(request);
      return answerOf(JSON.parse((await say(folder, [...argv, '--json'], input)).stdout));
    };
  },
};

for (const [name, open] of Object.entries(INTERFACES)) {
  test.each(CASES)(`${name}: $name`, { timeout: 300_000 }, async ({ steps }) => {
    const send = await open();
    for (const { request, data, code } of steps) {
      const expected = code === undefined ? { ok: true, ...(data && { data }) } : { ok: false, code };
      expect(await send(request), JSON.stringify(request)).toMatchObject(expected);
    }
  });
}

test('every action is in a case', () => {
  const asked = new Set(CASES.flatMap(({ steps }) => steps.map(({ request }) => request.action)));
  expect([...asked].sort()).toEqual(DEFINITIONS.map(({ name }) => name).sort());
});

function answerOf({ ok, data, error }: ExecutorAnswer): Answer {
  return { ok, data, code: error?.code };
}

function definitionOf(name: string): Action {
  return (DEFINITIONS as readonly Action[]).find((one) => one.name === name)!;
}

/** The route of the action, if it has one that takes all fields of the request. */
function ownRoute({ action, batch = 'default', ...fields }: Step['request']) {
  const { http } = definitionOf(action);
  if (http === undefined || http.without?.some((field) => field in fields)) return undefined;
  const path = http.path.replace('{batch}', encodeURIComponent(String(batch)));
  const named = Object.entries(fields).map(([field, value]) => [http.names?.[field] ?? field, value]);
  if (http.method === 'post') return { method: 'POST', path, body: Object.fromEntries(named) };
  return { method: 'GET', path: `${path}?${new URLSearchParams(Object.fromEntries(named))}` };
}

/** The request as somebody would type it; tasks come over standard input. */
function commandLine({ action, ...fields }: Step['request']): { argv: string[]; input: string } {
  const { cli } = definitionOf(action);
  const argv = [action.replaceAll('_', '-')];
  const { tasks, ...rest } = fields as Record<string, unknown>;
  if (tasks !== undefined) argv.push('-');
  const flat = Object.entries(rest).flatMap(([field, value]) =>
    field === 'range' ? Object.entries(value as object).map(([k, v]) => [`range.${k}`, v]) : [[field, value]],
  );
  for (const [field, value] of flat as [string, unknown][]) {
    const option = cli.options?.[field];
    if (option === false) continue;
    const flag = option?.flags?.split(' ')[0] ?? `--${field.replaceAll('_', '-')}`;
    const word = Array.isArray(value)
      ? value.join(',')
      : typeof value === 'object'
        ? JSON.stringify(value)
        : value;
    argv.push(...(typeof word === 'boolean' ? [flag] : [`${flag}=${word}`]));
  }
  return { argv, input: tasks === undefined ? '' : JSON.stringify({ tasks }) };
}
