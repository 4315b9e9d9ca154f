import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import type { Rig } from '../support/rig.ts';

/** Returns a list, as a listing of a folder does. */
export const list = defineTool<{ values: unknown[] }>({
  name: 'list',
  run: ({ values }) => ({ values }),
}) as Tool;

export const mayFail = defineTool<{ fails: boolean }>({
  name: 'may_fail',
  run: ({ fails }) => {
    if (fails) throw new Error('it failed');
    return 'fine';
  },
}) as Tool;

/** Adds tasks, runs them and returns the data of the answer. */
export async function ran(
  rig: Rig,
  tasks: readonly object[],
  settings: object = {},
): Promise<Record<string, unknown>> {
  await rig.ask('add_batch', { tasks, ...settings });
  const { data } = await rig.ask('start', { wait: true });
  return data as Record<string, unknown>;
}

export async function resultOf(rig: Rig, id: string): Promise<unknown> {
  const text = await rig.store.result('default', id);
  return text === undefined ? undefined : JSON.parse(text);
}

/** The code and details of the error with which a request is refused. */
export async function refusal(rig: Rig, action: string, args: object): Promise<Record<string, unknown>> {
  const { ok, data } = await rig.executor.handle({ action, ...args });
  if (ok) throw new Error(`${action} was not refused.`);
  return data as Record<string, unknown>;
}
