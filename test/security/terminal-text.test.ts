import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { say } from '../cli/support/program.ts';
import { runBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';
import { isDeep } from '../support/depth.ts';
import { onTerminal } from './support/terminal.ts';

const SLOW = { timeout: 300_000 };
/** A title, a cleared screen, text from right to left, a command in one character, an overwritten line, a tag. */
const HOSTILE = 'A\x1b]0;title\x07B\x1b[2JC\u202eD\u009b31mE\rF\x1b[5AG\u{e0041}H\u2028I\u200bJ';
/** Names may hold no control characters, but whatever else. */
const NAME = 'n\u202ea\u200bm\u{e0041}e';
const files = {
  'volley.toml': `[tools]
modules = ["./tools.mjs"]
[mcp.servers.evil]
command = "./server.sh"
`,
  'server.sh': '#!/bin/sh\nprintf "\\033]0;title\\007\\033[2Jbad\\r" >&2\nexit 3\n',
  'tools.mjs': `{define}
export const bad = defineTool({ name: "bad", description: ${JSON.stringify(HOSTILE)}, run: (_, { report }) => { report(${JSON.stringify(HOSTILE)}); throw new Error(${JSON.stringify(HOSTILE)}); } });
export const good = defineTool({ name: "good", run: () => ${JSON.stringify(HOSTILE)} });
export const worse = defineTool({ name: "worse", run: () => { throw Object.assign(new Error(${JSON.stringify(HOSTILE)}), { code: ${JSON.stringify(HOSTILE)}, name: ${JSON.stringify(HOSTILE)} }); } });`,
  'work.json': JSON.stringify({
    batch: NAME,
    tasks: [
      { id: 'bad', name: NAME, function: 'bad' },
      { id: NAME, function: 'worse' },
      { id: 'good', name: NAME, function: 'good' },
      { id: 'later', function: 'good', depends_on: ['bad'] },
    ],
  }),
  '.tmp/tasks/feat/task.json': JSON.stringify({
    id: 'feat',
    name: HOSTILE,
    status: 'active',
    objective: HOSTILE,
    context_files: [],
    exit_criteria: [HOSTILE],
    subtask_count: 1,
    completed_count: 0,
    created_at: '2026-01-01T00:00:00Z',
  }),
  '.tmp/tasks/feat/subtask_01.json': JSON.stringify({
    id: 'feat-01',
    seq: '01',
    title: HOSTILE,
    status: 'pending',
    depends_on: [],
    parallel: false,
    acceptance_criteria: [HOSTILE],
    deliverables: [],
  }),
};

/** What our own code may send to a terminal: styles, and the moves of the live display. */
const OWN = new RegExp(
  `${String.fromCharCode(0x1b)}\\[(?:(?:1|2|22|31|32|33|36|39)m|\\?25[lh]|K|J|\\d+A)|\\r(?=${String.fromCharCode(0x1b)}\\[\\d+A)`,
  'g',
);
/** The live display begins its picture at the left. */
const isDisplay = (args: readonly string[]) => args[0] === 'run' || args[0] === 'watch';

function foreignIn(output: string, args: readonly string[]): string[] {
  // The terminal itself turns each line feed into a carriage return and a line feed.
  let text = output.replace(OWN, '').replaceAll('\r\n', '\n');
  if (isDisplay(args)) text = text.replaceAll('\r', '');
  return [...text].filter((one) => !/[\n\t]/.test(one) && /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{DI}]/u.test(one));
}

/** One command for each way to show what is not ours. */
const COMMANDS: readonly (readonly string[])[] = [
  ['run', 'work.json', '--verbose'],
  ['results', '--id', NAME],
  ['results', '--format', 'detailed'],
  ['status'],
  ['list'],
  ['explain'],
  ['watch'],
  ['tools', 'bad', '--schema'],
  ['run', `missing-${HOSTILE}.json`],
  [HOSTILE],
  ['tasks', 'status'],
  ['tasks', 'graph', 'feat'],
];
const MORE_COMMANDS: readonly (readonly string[])[] = [
  ['results', '--id', 'bad'],
  ['results', '--id', 'good'],
  ['results', '--format', 'json'],
  ['results'],
  ['results', '--id', 'bad', '--json'],
  ['start', '--dry-run'],
  ['tools'],
  ['tools', '--json'],
  ['simulate'],
  ['start', '--batch', HOSTILE],
  ['tasks', 'next', 'feat'],
  ['tasks', 'validate'],
  ['tasks', 'deps', 'feat', '01'],
  ['tasks', 'status', HOSTILE],
  ['tasks', 'run', 'feat', '--dry-run'],
  ['doctor', '--config', `missing-${HOSTILE}.toml`],
];

function hostileProject(): string {
  const folder = project(files);
  chmodSync(join(folder, 'server.sh'), 0o755);
  return folder;
}

describe('on a terminal', () => {
  it('text of tools, files, servers and batches controls nothing, in any command', SLOW, async () => {
    const folder = hostileProject();
    for (const args of isDeep ? [...COMMANDS, ...MORE_COMMANDS] : COMMANDS) {
      const terminal = onTerminal(folder, args);
      await terminal.ended;
      const output = terminal.output();
      expect({ args, foreign: foreignIn(output, args) }).toEqual({ args, foreign: [] });
      expect(output.length).toBeGreaterThan(0);
    }
  });

  it('the text itself is still there, and each hostile line break is one', SLOW, async () => {
    const folder = hostileProject();
    await runBuilt(folder, ['run', 'work.json']);
    const terminal = onTerminal(folder, ['results', '--id', 'bad']);
    await terminal.ended;
    expect(terminal.output()).toContain('ABC\ufffdDE\r\nFG\ufffdH\r\nI\ufffdJ');
  });
});

describe('in a pipe', () => {
  it('text is filtered too, and --raw and --json keep it', SLOW, async () => {
    const folder = hostileProject();
    await runBuilt(folder, ['run', 'work.json']);
    const plain = await runBuilt(folder, ['results', '--id', 'bad']);
    expect(foreignIn(plain.stdout, [])).toEqual([]);
    const raw = await say(folder, ['results', '--id', 'bad', '--raw']);
    expect(raw.stdout).toContain(HOSTILE);
    const json = await say(folder, ['results', '--id', 'bad', '--json']);
    expect(JSON.parse(json.stdout).data.message).toBe(HOSTILE);
    expect(json.stdout).toContain('\u202e');
  });
});
