import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderWith, say } from './support/program.ts';

const SLOW = { timeout: 180_000 };

const JOBS = JSON.stringify({
  batch: 'jobs',
  return: 'read.length',
  tasks: [
    { id: 'list', function: 'list_directory', params: { path: 'notes' } },
    {
      id: 'read',
      function: 'read_file',
      params: { path: '${item.path}' },
      for_each: 'list.entries',
      max_concurrent: 1,
    },
    { id: 'files', function: 'read_file', params: { path: '${item}' }, for_each: { glob: 'notes/*' } },
    {
      id: 'bad',
      function: 'read_file',
      params: { path: 'missing/${item}' },
      for_each: ['a', 'b', 'c', 'd', 'e'],
      on_item_error: 'null',
    },
    { id: 'never', function: 'compute', params: { expression: '1' }, when: 'read.length > 2' },
  ],
});

function folder(): string {
  return folderWith({ 'jobs.json': JOBS, 'notes/a.txt': 'a', 'notes/b.txt': 'b' });
}

describe('a batch with groups', () => {
  it('is counted before it runs, and what is not known is assumed', SLOW, async () => {
    const place = folder();
    const plan = JSON.parse((await say(place, ['run', 'jobs.json', '--dry-run', '--json'])).stdout);
    const byId = Object.fromEntries(plan.order.map((one: { id: string }) => [one.id, one]));
    expect(byId).toMatchObject({
      read: { items: 10, items_known: false, depends_on: ['list'] },
      files: { items: 2, items_known: true },
      bad: { items: 5, items_known: true },
      never: { when: 'read.length > 2' },
      return: { returns: 'read.length' },
    });
    // Ten items one after the other, after the listing and before what uses them.
    expect(plan.critical_path).toEqual(['list', 'read', expect.stringMatching(/never|return/)]);
    expect(plan.waves).toEqual([8, 10, 2]);
    const { stdout } = await say(place, ['run', 'jobs.json', '--dry-run']);
    expect(stdout).toContain('6 tasks with about 17 items');
    expect(stdout).toContain('read: once for each item of list.entries (not known yet, counts as 10 items)');
    expect(stdout).toContain('never: only if read.length > 2');
    const simulated = JSON.parse((await say(place, ['simulate', 'jobs.json', '--json'])).stdout);
    expect(simulated.groups).toMatchObject([
      { id: 'read', items: 10, items_known: false },
      { id: 'files', items: 2 },
      { id: 'bad', items: 5 },
    ]);
  });

  it(
    'shows few failures of each group while it runs, and pictures with one node for each',
    SLOW,
    async () => {
      const place = folder();
      const pictures = ['--graph', 'g.mmd', '--gantt', 'g.svg', '--trace', 't.json'];
      const { stdout, stderr } = await say(place, ['run', 'jobs.json', '--verbose', ...pictures]);
      expect(stderr.match(/✗ bad\[\d\]/g)).toHaveLength(3);
      expect(stderr).toContain('✓ files (read_file)');
      expect(stderr).not.toContain('✓ files[0]');
      expect(stdout).toContain('5 × Cannot read "missing/…"');
      expect(stdout).toMatch(/\n2\n$/);
      const graph = readFileSync(join(place, 'g.mmd'), 'utf8');
      expect(graph).toContain('bad<br/>read_file<br/>5 items, 5 failed');
      expect(readFileSync(join(place, 'g.svg'), 'utf8')).toContain('read: 2 items');
      const { traceEvents } = JSON.parse(readFileSync(join(place, 't.json'), 'utf8'));
      const threads = traceEvents.filter(({ name }: { name: string }) => name === 'thread_name');
      expect(threads[0].args.name).toBe('groups 1');
      const explained = async (id: string) =>
        JSON.parse((await say(place, ['explain', id, '--json'])).stdout).tasks[0];
      expect(await explained('read')).toMatchObject({ kind: 'for_each', items: { completed: 2 } });
      expect(await explained('bad[3]')).toMatchObject({ status: 'failed', group: 'bad', index: 3 });
      expect(await explained('never')).toMatchObject({ status: 'skipped', code: 'WHEN_FALSE' });
      const items = await say(place, ['results', '--group', 'files']);
      expect(items.stdout).toContain('files[1] (read_file): completed');
    },
  );

  it('ends well if nothing failed, though something was skipped by its condition', SLOW, async () => {
    const place = folder();
    const { tasks } = JSON.parse(JOBS) as { tasks: { id: string }[] };
    const good = tasks.filter(({ id }) => id !== 'bad');
    writeFileSync(join(place, 'good.json'), JSON.stringify(good));
    const { status, stdout } = await say(place, ['run', 'good.json']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^✓ good: 7 of 8 completed, 1 skipped/);
    expect(stdout).not.toContain('volley retry');
    expect(await say(place, ['watch', '--batch', 'good'])).toMatchObject({ status: 0 });
  });
});
