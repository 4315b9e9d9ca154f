import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { say } from '../cli/support/program.ts';
import { project } from '../e2e/support/project.ts';
import { featureFiles, httpClient, mcpClient, Victim } from './support/hostile-client.ts';

describe('with the default configuration', { timeout: 180_000 }, () => {
  it('an MCP client that writes a feature and completes it runs no command', async () => {
    const victim = new Victim();
    const agent = await mcpClient(project(), victim);
    const files = Object.entries(featureFiles('x', victim.payload));
    const tasks = files.map(([path, content]) => ({
      function: 'write_file',
      params: { path, content, create_directories: true },
    }));
    await agent.call('run_batch', { tasks });
    const answer = await agent.call('tasks_complete', { feature: 'x', seq: '01', summary: 'done' });
    expect([answer.isError, victim.isHit]).toEqual([true, false]);
  });

  it('an HTTP client that writes a feature and completes it runs no command', async () => {
    const victim = new Victim();
    const agent = await httpClient(project(), victim);
    for (const [path, content] of Object.entries(featureFiles('x', victim.payload)))
      await agent.post('/v1/execute', {
        calls: [{ name: 'write_file', arguments: { path, content, create_directories: true } }],
      });
    const answer = await agent.post('/v1/features/x/subtasks/01/complete', { summary: 'done' });
    expect([answer.status >= 400, victim.isHit]).toEqual([true, false]);
  });

  it('a feature that came with the repository runs no command, over any interface', async () => {
    const victim = new Victim();
    const folder = project(featureFiles('x', victim.payload));
    const mcp = await mcpClient(folder, victim);
    const completed = await mcp.call('tasks_complete', { feature: 'x', seq: '01', summary: 'done' });
    expect(completed).toMatchObject({ isError: true, text: expect.stringContaining('volley trust') });
    const http = await httpClient(folder, victim);
    expect(await http.post('/v1/features/x/subtasks/01/complete', { summary: 'done' })).toMatchObject({
      status: 422,
      body: { code: 'NOT_TRUSTED' },
    });
    expect(await http.post('/v1/features/x/run', {})).toMatchObject({ body: { code: 'NOT_TRUSTED' } });
    for (const words of [
      ['complete', 'x', '01', 'done'],
      ['complete', 'x', '01', 'done', '--force'],
      ['verify', 'x', '01'],
      ['run', 'x', '--agent', 'command'],
    ]) {
      const { status, stdout } = await say(folder, ['tasks', ...words, '--json'], '', undefined, victim.env);
      expect([status, JSON.parse(stdout)]).toMatchObject([2, { error: { code: 'NOT_TRUSTED' } }]);
    }
    expect(victim.isHit).toBe(false);
  });

  it('a feature that came with the repository works after volley trust, which shows its commands', async () => {
    const victim = new Victim();
    const folder = project(featureFiles('x', 'echo checked > checked.txt'));
    const { status, stdout } = await say(folder, ['trust', '--yes'], '', undefined, victim.env);
    expect([status, stdout]).toEqual([0, expect.stringContaining('"x" "01": "echo checked > checked.txt"')]);
    const mcp = await mcpClient(folder, victim);
    const completed = await mcp.call('tasks_complete', { feature: 'x', seq: '01', summary: 'done' });
    expect(completed).toMatchObject({ isError: false });
    expect(readFileSync(join(folder, 'checked.txt'), 'utf8')).toBe('checked\n');
  });
});
