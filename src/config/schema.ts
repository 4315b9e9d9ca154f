import { z } from 'zod';
import { defaultsSection } from './sections/defaults.ts';
import { engineSection } from './sections/engine.ts';
import { limitsSection } from './sections/limits.ts';
import { mcpSection } from './sections/mcp.ts';
import { processesSection } from './sections/processes.ts';
import { secretsSection } from './sections/secrets.ts';
import { serverSection } from './sections/server.ts';
import { storeSection } from './sections/store.ts';
import { tasksSection } from './sections/tasks.ts';
import { threadsSection } from './sections/threads.ts';
import { toolsSection } from './sections/tools.ts';

/**
 * All of `volley.toml`: what is valid, what it means and what holds without it. The documentation and the JSON Schema
 * for editors are made from this. A new section is a file in `sections/`, a line here and in `sections/load.ts`, and its part of `DEFAULTS`.
 */
export const configSchema = z.strictObject({
  engine: engineSection.prefault({}),
  limits: limitsSection.prefault({}),
  defaults: defaultsSection.prefault({}),
  tools: toolsSection.prefault({}),
  threads: threadsSection.prefault({}),
  processes: processesSection.prefault({}),
  secrets: secretsSection.prefault({}),
  store: storeSection.prefault({}),
  server: serverSection.prefault({}),
  mcp: mcpSection.prefault({}),
  tasks: tasksSection.prefault({}),
});

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** What the file says, in its own words, checked and with the defaults filled in. */
export type Settings = DeepReadonly<z.infer<typeof configSchema>>;
