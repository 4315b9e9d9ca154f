import { setTimeout as delay } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

// The least that a server can be: one tool that only reads.
serveStdio(() => {
  const server = new McpServer({ name: 'downstream', version: '1.0.0' });
  server.registerTool(
    'look',
    {
      description: 'Waits for so long and answers.',
      inputSchema: z.object({ ms: z.number() }),
      annotations: { readOnlyHint: true },
    },
    async ({ ms }) => {
      if (ms > 0) await delay(ms);
      return { content: [{ type: 'text', text: 'seen' }] };
    },
  );
  return server;
});
