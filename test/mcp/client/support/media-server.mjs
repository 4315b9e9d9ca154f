// A server that gives pictures, sound and files. Its output is its stdout.
import { createHash } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const server = new McpServer({ name: 'media', version: '1.0.0' });
const READS = { readOnlyHint: true };

/** Bytes that look like noise and are always the same. */
const bytesOf = (size, seed) => {
  const bytes = Buffer.alloc(size);
  for (let at = 0, state = seed; at < size; at++) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    bytes[at] = state >> 16;
  }
  return bytes.toString('base64');
};

server.registerTool(
  'picture',
  {
    description: 'Gives a picture.',
    inputSchema: z.object({ size: z.number(), seed: z.number().default(1) }),
    annotations: READS,
  },
  async ({ size, seed }) => ({
    content: [
      { type: 'text', text: 'a picture' },
      { type: 'image', mimeType: 'image/png', data: bytesOf(size, seed) },
    ],
  }),
);
server.registerTool(
  'mixture',
  { description: 'Gives sound, a file and a text file.', inputSchema: z.object({}), annotations: READS },
  async () => ({
    content: [
      { type: 'audio', mimeType: 'audio/wav', data: bytesOf(2000, 2) },
      {
        type: 'resource',
        resource: { uri: 'file:///a.zip', mimeType: 'application/zip', blob: bytesOf(3000, 3) },
      },
      { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'hello' } },
      { type: 'image', mimeType: 'text/html"\r\nx: y', data: bytesOf(10, 4) },
    ],
  }),
);
server.registerTool(
  'digest',
  { description: 'The SHA-256 of data.', inputSchema: z.object({ data: z.string() }), annotations: READS },
  async ({ data }) => ({
    content: [{ type: 'text', text: createHash('sha256').update(Buffer.from(data, 'base64')).digest('hex') }],
  }),
);
await server.connect(new StdioServerTransport());
