import type { ToolDescription } from '../../../../src/tools/registry.ts';

export const TOOLS: readonly ToolDescription[] = [
  {
    name: 'files.read',
    description: 'Reads a file.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    outputSchema: { type: 'object', properties: { content: { type: 'string' } } },
    readOnly: true,
    idempotent: true,
  },
  {
    name: 'now',
    description: '',
    inputSchema: {},
    outputSchema: { type: 'string' },
    readOnly: true,
    idempotent: false,
  },
];
