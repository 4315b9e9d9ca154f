import type { z } from 'zod';
import type { Settings } from '../schema.ts';

type Sections = { readonly [K in keyof Settings]: () => Promise<z.ZodType<Settings[K]>> };

/** Each section by itself: making the schema of one takes as long as reading the file. */
export const SECTIONS: Sections = {
  engine: async () => (await import('./engine.ts')).engineSection,
  limits: async () => (await import('./limits.ts')).limitsSection,
  defaults: async () => (await import('./defaults.ts')).defaultsSection,
  tools: async () => (await import('./tools.ts')).toolsSection,
  threads: async () => (await import('./threads.ts')).threadsSection,
  processes: async () => (await import('./processes.ts')).processesSection,
  secrets: async () => (await import('./secrets.ts')).secretsSection,
  store: async () => (await import('./store.ts')).storeSection,
  server: async () => (await import('./server.ts')).serverSection,
  mcp: async () => (await import('./mcp.ts')).mcpSection,
  tasks: async () => (await import('./tasks.ts')).tasksSection,
};
