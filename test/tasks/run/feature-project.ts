import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { parseFeature } from '../../../src/tasks/files/parse-feature.ts';
import { trust } from '../support/feature.ts';

type Fields = Readonly<Record<string, unknown>>;

const AGENT = fileURLToPath(new URL('./agents/agent.mjs', import.meta.url));

/** What an agent has noted of itself. */
export interface AgentNote {
  readonly event: 'start' | 'end' | 'child' | 'refused';
  readonly seq: string;
  readonly pid: number;
  readonly at: number;
  readonly cwd: string;
  readonly prompt?: string;
  readonly child?: number;
  readonly text?: string;
}

/** A project with one feature, whose agents are scripts that behave as their subtasks say. */
export class FeatureProject {
  readonly folder = mkdtempSync(join(tmpdir(), 'volley-feature-'));
  private readonly log = join(this.folder, '.volley', 'agents.jsonl');

  constructor(
    subtasks: Readonly<Record<string, Fields>>,
    { settings = '', name = 'auth' }: { readonly settings?: string; readonly name?: string } = {},
  ) {
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 }));
    this.put('volley.toml', `[tasks]\nagent = "coder"\nmax_retries = 0\n${settings}\n${this.agent('coder')}`);
    this.put('.volley/agents.jsonl', '');
    const task = { id: name, name: 'Sign in', status: 'active' };
    const texts = new Map<string, string>();
    this.put(`.tmp/tasks/${name}/task.json`, JSON.stringify(task));
    for (const [seq, fields] of Object.entries(subtasks)) {
      const all = { id: `${name}-${seq}`, seq, title: `Do ${seq}`, status: 'pending', parallel: true };
      texts.set(`subtask_${seq}.json`, JSON.stringify({ ...all, ...fields }));
    }
    for (const [file, text] of texts) this.put(`.tmp/tasks/${name}/${file}`, text);
    trust(this.folder, parseFeature(name, texts));
  }

  /** A table of the configuration that makes the script an agent. */
  agent(name: string, more = ''): string {
    const command = JSON.stringify([process.execPath, AGENT]);
    const env = `env = { AGENT_LOG = ${JSON.stringify(this.log)} }`;
    return `[tasks.agents.${name}]\ncommand = ${command}\n${env}\n${more}\n`;
  }

  put(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  subtask(seq: string, name = 'auth'): Record<string, unknown> {
    return JSON.parse(this.read(`.tmp/tasks/${name}/subtask_${seq}.json`));
  }

  /** What agents have noted, in the order in which they did. */
  notes(event?: AgentNote['event']): AgentNote[] {
    const lines = readFileSync(this.log, 'utf8').split('\n');
    const notes = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as AgentNote);
    return event === undefined ? notes : notes.filter((note) => note.event === event);
  }

  /** The sequences of those that have begun, in order. */
  begun(): string[] {
    return this.notes('start').map(({ seq }) => seq);
  }
}
