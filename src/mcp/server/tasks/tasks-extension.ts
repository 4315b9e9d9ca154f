import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  type ServerContext,
} from '@modelcontextprotocol/server';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Whether the client of a request of 2026-07-28 can be given a task instead of a result. */
export function takesTasks({ mcpReq }: ServerContext): boolean {
  const envelope = mcpReq.envelope as Readonly<Record<string, unknown>> | undefined;
  const { extensions } = (envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {}) as { extensions?: object };
  return extensions !== undefined && Object.hasOwn(extensions, TASKS_EXTENSION);
}

/** Throws what the protocol has for a client that asks for tasks without saying that it knows them. */
export function requireTasks(context: ServerContext): void {
  if (takesTasks(context)) return;
  throw new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  });
}
