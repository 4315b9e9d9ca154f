// A sketch of "code mode" without Volley, for comparison: an MCP server with one tool that runs a program, which calls
// the tools of other servers. It has no sandbox, no limits and no memory, so use it for nothing else.
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { connect } from './servers.mjs';

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
const clients = await Promise.all(['files', 'records'].map(connect));
const tools = {};
for (const client of clients)
  for (const { name } of (await client.listTools()).tools)
    tools[name] = async (args = {}) => {
      const { content, structuredContent } = await client.callTool({ name, arguments: args });
      return structuredContent ?? content[0].text;
    };

const server = new McpServer({ name: 'code-mode', version: '1.0.0' });
server.registerTool(
  'run_code',
  {
    description:
      'Runs JavaScript, the body of an async function, and returns its value. tools.name({…}) calls one of your tools.',
    inputSchema: fromJsonSchema({
      type: 'object',
      properties: { code: { type: 'string' } },
      required: ['code'],
    }),
  },
  async ({ code }) => ({
    content: [{ type: 'text', text: JSON.stringify(await new AsyncFunction('tools', code)(tools)) }],
  }),
);
await server.connect(new StdioServerTransport());
