import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { MCP_TOOLS } from '../../../src/mcp/server/serve-tools.ts';
import { projectWith, put } from '../../tasks/support/feature.ts';
import { buildProgram } from '../support/built-program.ts';

const { main } = await buildProgram();
const AGENTS = fileURLToPath(new URL('../../../examples/agents/', import.meta.url));
const ROUTER = join(AGENTS, 'opencode/skill/task-management/router.sh');

test('router.sh does what prompts ask of it, wherever it is called, and with the exit status of volley', () => {
  const folder = projectWith({ '01': {}, '02': { deliverables: ['missing.txt'] } });
  put(folder, 'node_modules/.bin/volley', `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  chmodSync(join(folder, 'node_modules/.bin/volley'), 0o755);
  mkdirSync(join(folder, 'a folder/below'), { recursive: true });
  const router = (...args: readonly string[]) =>
    spawnSync('bash', [ROUTER, ...args], { cwd: join(folder, 'a folder/below'), encoding: 'utf8' });

  const completed = router('complete', 'auth', '01', 'Did "it" & more');
  expect(completed, completed.stderr).toMatchObject({ status: 0 });
  expect(router('complete', 'auth', '02', 'Believe me')).toMatchObject({ status: 1 });
  expect(router('status', 'auth').stdout).toContain('✓ 01 - Do 01 [completed]\n  ○ 02 - Do 02 [pending]');
  expect(router('status', 'aut')).toMatchObject({ status: 2, stderr: expect.stringContaining('"auth"') });
  expect(router().stdout).toContain('parallel');

  const elsewhere = spawnSync('/bin/bash', [ROUTER, 'status'], { cwd: '/', env: {}, encoding: 'utf8' });
  expect(elsewhere).toMatchObject({ status: 127, stderr: expect.stringContaining('not installed here') });
}, 180_000);

test.each([
  ['opencode/agent/BatchExecutor.md', /\bvolley_(tasks_\w+)/g],
  ['claude-code/agents/batch-executor.md', /\bmcp__volley__(tasks_\w+)/g],
])('%s has a head that can be read, and names tools that there are', (file, tools) => {
  const text = readFileSync(join(AGENTS, file), 'utf8');
  const head = parse(/^---\n(.*?)\n---\n/s.exec(text)![1]!) as { description: string };
  expect(head.description).toContain('verified');
  const named = new Set([...text.matchAll(tools)].map(([, name]) => name!));
  expect([...named].sort()).toEqual(['tasks_report', 'tasks_run', 'tasks_status']);
  expect(MCP_TOOLS.map(({ name }) => name)).toEqual(expect.arrayContaining([...named]));
});
