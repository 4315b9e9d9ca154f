import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';
import { buildProgram } from '../../e2e/support/built-program.ts';
import { shareCompiledCode, startBuilt } from '../../e2e/support/built-volley.ts';

const built = await buildProgram();

/** A user with a configuration folder of their own, and a place where an attack leaves its mark. */
export class Victim {
  private readonly folder = mkdtempSync(join(tmpdir(), 'volley-victim-'));
  /** A command that leaves the mark of a successful attack, outside of every project. */
  readonly mark = join(this.folder, 'pwned');
  readonly env: Readonly<Record<string, string>> = {
    HOME: this.folder,
    XDG_CONFIG_HOME: join(this.folder, 'config'),
    SECRET_OF_THE_USER: 'hunter2-of-the-user',
  };

  constructor() {
    shareCompiledCode(this.env['XDG_CONFIG_HOME']!);
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 }));
  }

  /** Writes the environment of the command to the mark. */
  get payload(): string {
    return `env > ${this.mark}`;
  }

  get isHit(): boolean {
    return existsSync(this.mark);
  }
}

export interface Refusal {
  readonly isError: boolean;
  readonly text: string;
}

/** An agent that reaches Volley over MCP, with whatever it likes to call. */
export async function mcpClient(cwd: string, { env }: Victim) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [built.main, 'mcp'],
    cwd,
    env: { ...(process.env as Record<string, string>), ...env },
    stderr: 'ignore',
  });
  const client = new Client({ name: 'hostile', version: '1.0.0' });
  onTestFinished(() => client.close());
  await client.connect(transport, { timeout: 120_000 });
  return {
    client,
    call: async (name: string, args: Record<string, unknown>): Promise<Refusal> => {
      const { isError = false, content } = await client.callTool({ name, arguments: args });
      const parts = content as { type: string; text?: string }[];
      return { isError: isError === true, text: parts.map(({ text }) => text ?? '').join('\n') };
    },
  };
}

/** The same over HTTP, with a token of the scope `admin`. */
export async function httpClient(cwd: string, { env }: Victim) {
  const child = startBuilt(cwd, ['serve', '--json', '--port', '0'], { env });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  child.stderr!.resume();
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  const { address, record_file } = JSON.parse(line) as { address: string; record_file: string };
  const { token } = JSON.parse(readFileSync(record_file, 'utf8')) as { token: string };
  return {
    address,
    token,
    post: async (path: string, body: unknown) => {
      const response = await fetch(`${address}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: response.status, body: (await response.json()) as { code?: string } };
    },
  };
}

/** The files of a feature with one subtask whose check is a command. */
export function featureFiles(name: string, command: string): Record<string, string> {
  const subtask = {
    id: `${name}-01`,
    seq: '01',
    title: 'Innocent',
    status: 'pending',
    verification: [{ type: 'command', command }],
  };
  return {
    [`.tmp/tasks/${name}/task.json`]: JSON.stringify({ id: name, name, status: 'active' }),
    [`.tmp/tasks/${name}/subtask_01.json`]: JSON.stringify(subtask),
  };
}
