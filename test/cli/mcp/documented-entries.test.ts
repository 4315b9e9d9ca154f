import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { MCP_CLIENTS, type StartCommand } from '../../../src/cli/mcp/clients.ts';

const TEXTS = z.array(z.string());
const TABLE = z.record(z.string(), z.string());
const MS = z.int().positive();
const PROJECT: StartCommand = { command: 'npx', args: ['--no', 'volley', 'mcp'] };

/** What the documentation of each client has for a server on this machine: these fields and no others. */
const DOCUMENTED: Readonly<Record<string, { page: string; path: string[]; entry: z.ZodType }>> = {
  'claude-code': {
    page: 'https://code.claude.com/docs/en/mcp',
    path: ['mcpServers', 'volley'],
    entry: z.strictObject({
      type: z.literal('stdio').optional(),
      command: z.string(),
      args: TEXTS.optional(),
      env: TABLE.optional(),
      timeout: MS.optional(),
    }),
  },
  codex: {
    page: 'https://developers.openai.com/codex/mcp',
    path: ['mcp_servers', 'volley'],
    entry: z.strictObject({
      command: z.string(),
      args: TEXTS.optional(),
      env: TABLE.optional(),
      env_vars: TEXTS.optional(),
      cwd: z.string().optional(),
      enabled: z.boolean().optional(),
      startup_timeout_sec: z.number().positive().optional(),
      tool_timeout_sec: z.number().positive().optional(),
      enabled_tools: TEXTS.optional(),
      disabled_tools: TEXTS.optional(),
    }),
  },
  gemini: {
    page: 'https://geminicli.com/docs/tools/mcp-server',
    path: ['mcpServers', 'volley'],
    entry: z.strictObject({
      command: z.string(),
      args: TEXTS.optional(),
      env: TABLE.optional(),
      cwd: z.string().optional(),
      timeout: MS.optional(),
      trust: z.boolean().optional(),
      includeTools: TEXTS.optional(),
      excludeTools: TEXTS.optional(),
    }),
  },
  qwen: {
    page: 'https://qwenlm.github.io/qwen-code-docs/en/developers/tools/mcp-server',
    path: ['mcpServers', 'volley'],
    entry: z.strictObject({
      command: z.string(),
      args: TEXTS.optional(),
      env: TABLE.optional(),
      cwd: z.string().optional(),
      timeout: MS.optional(),
      trust: z.boolean().optional(),
      includeTools: TEXTS.optional(),
      excludeTools: TEXTS.optional(),
    }),
  },
  opencode: {
    page: 'https://opencode.ai/docs/mcp-servers',
    path: ['mcp', 'volley'],
    entry: z.strictObject({
      type: z.literal('local'),
      command: TEXTS.min(1),
      cwd: z.string().optional(),
      environment: TABLE.optional(),
      enabled: z.boolean().optional(),
      timeout: MS.optional(),
    }),
  },
  cursor: {
    page: 'https://cursor.com/docs/mcp',
    path: ['mcpServers', 'volley'],
    entry: z.strictObject({
      type: z.literal('stdio'),
      command: z.string(),
      args: TEXTS.optional(),
      env: TABLE.optional(),
      envFile: z.string().optional(),
    }),
  },
  vscode: {
    page: 'https://code.visualstudio.com/docs/agents/reference/mcp-configuration',
    path: ['servers', 'volley'],
    entry: z.strictObject({
      type: z.literal('stdio'),
      command: z.string(),
      args: TEXTS.optional(),
      cwd: z.string().optional(),
      env: TABLE.optional(),
      envFile: z.string().optional(),
    }),
  },
};

describe('the entry of a client has the form that its documentation has', () => {
  test.each(MCP_CLIENTS)('$name', (client) => {
    const { path, entry } = DOCUMENTED[client.name]!;
    expect(client.path({})).toEqual(path);
    const written = client.entry(PROJECT, {});
    expect(entry.parse(written)).toEqual(written);
  });

  test('opencode, where the file is one of version 2', () => {
    const { path, entry } = MCP_CLIENTS.find(({ name }) => name === 'opencode')!;
    const content = { mcp: { servers: {} } };
    // https://opencode.ai/v2/docs/mcp-servers
    const documented = z.strictObject({
      type: z.literal('local'),
      command: TEXTS.min(1),
      cwd: z.string().optional(),
      environment: TABLE.optional(),
      disabled: z.boolean().optional(),
      timeout: z.strictObject({ startup: MS.optional(), request: MS.optional() }).optional(),
    });
    expect(path(content)).toEqual(['mcp', 'servers', 'volley']);
    const written = entry(PROJECT, content);
    expect(documented.parse(written)).toEqual(written);
  });
});

test('docs/agents.md shows for each client what is written', () => {
  const page = readFileSync(new URL('../../../docs/agents.md', import.meta.url), 'utf8');
  for (const { title, format, path, entry, begin = {} } of MCP_CLIENTS) {
    const after = page.slice(page.indexOf(`**${title}**`));
    const [, language, text] = /```(\w+)\n([\s\S]*?)\n```/.exec(after)!;
    expect([title, language]).toEqual([title, format]);
    const nested = path({}).reduceRight<object>((value, key) => ({ [key]: value }), entry(PROJECT, {}));
    expect(format === 'json' ? JSON.parse(text!) : parse(text!)).toEqual({ ...begin, ...nested });
  }
});
