import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ParallelAgentTool } from '../../src/tools/agent-tool.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { ToolRegistry } from '../../src/tools/registry.ts';

const tool = (name: string, fields: object = {}) => defineTool({ name, run: () => name, ...fields });
const failure = (act: () => unknown) => {
  try {
    act();
  } catch (error) {
    return `${(error as { code: string }).code}: ${(error as Error).message}`;
  }
  return 'nothing';
};

describe('the registry', () => {
  it('lists what may be called in the order of names, and finds by glob', () => {
    const registry = new ToolRegistry();
    registry.register(
      tool('files.write'),
      tool('files.read', { description: 'reads', readOnly: true, input: z.object({ path: z.string() }) }),
      tool('zip'),
    );
    expect(registry.list().map(({ name }) => name)).toEqual(['files.read', 'files.write', 'zip']);
    expect(registry.list('files.*').map(({ name }) => name)).toEqual(['files.read', 'files.write']);
    expect(registry.list('files.read')).toEqual([
      {
        name: 'files.read',
        description: 'reads',
        inputSchema: expect.objectContaining({ type: 'object', required: ['path'] }),
        readOnly: true,
        idempotent: true,
      },
    ]);
  });

  it('calls only what is allowed and not denied', () => {
    const registry = new ToolRegistry({ allow: ['read_*', 'zip'], deny: ['*_secret'] });
    registry.register(tool('read_file'), tool('read_secret'), tool('zip'), tool('shell'));
    expect(registry.list().map(({ name }) => name)).toEqual(['read_file', 'zip']);
    expect(registry.resolve('read_file').name).toBe('read_file');
    expect(failure(() => registry.resolve('read_secret'))).toMatch(/^TOOL_NOT_ALLOWED: .*read_secret/);
    expect(failure(() => registry.resolve('shell'))).toMatch(/^TOOL_NOT_ALLOWED/);
  });

  it('names the nearest tool for one that does not exist, but none that is denied', () => {
    const registry = new ToolRegistry({ deny: ['write_file'] });
    registry.register(tool('read_file'), tool('write_file'));
    expect(failure(() => registry.resolve('read_fil'))).toMatch(/^UNKNOWN_TOOL: .*"read_fil".*read_file/);
    expect(failure(() => registry.resolve('write_fil'))).toMatch(
      /^UNKNOWN_TOOL: .*"write_fil"(?!.*write_file)/,
    );
  });

  it('says what to do about a tool that is switched off', () => {
    const registry = new ToolRegistry();
    registry.explainAbsence('shell', 'it is off until tools.shell.enabled is true');
    expect(failure(() => registry.resolve('shell'))).toMatch(
      /^TOOL_NOT_ALLOWED: .*tools\.shell\.enabled is true/,
    );
  });

  it('takes all of a list or none', () => {
    const registry = new ToolRegistry();
    registry.register(tool('a'));
    expect(failure(() => registry.register(tool('b'), tool('a')))).toMatch(/^DUPLICATE_TOOL/);
    expect(failure(() => registry.register(tool('b'), tool('b')))).toMatch(/^DUPLICATE_TOOL/);
    expect(failure(() => registry.register({ name: 'c' } as never))).toMatch(/^INVALID_TOOL/);
    expect(registry.list().map(({ name }) => name)).toEqual(['a']);
    expect(registry.unregister('a')).toBe(true);
    expect(registry.unregister('a')).toBe(false);
    expect(registry.list()).toEqual([]);
  });

  it.each([[{ allow: 'all' }], [{ deny: [''] }]])('rejects the lists %j', (access) => {
    expect(failure(() => new ToolRegistry(access as never))).toMatch(/^INVALID_VALUE/);
  });
});

describe('a ParallelAgentTool', () => {
  class Compress implements ParallelAgentTool<{ path: string }, string> {
    readonly name = 'compress';
    readonly description = 'makes it smaller';
    readonly inputSchema = z.object({ path: z.string() });
    readonly heard: unknown[] = [];
    execute({ path }: { path: string }, { report }: { report: (share: number, step?: string) => void }) {
      report(0.5, 'half');
      return `${path}.gz`;
    }
    resourceRequirements() {
      return { cpu: 0.5, memoryMb: 50, exclusive: ['disk'] };
    }
    priority() {
      return 'high' as const;
    }
    canRunParallelWith(other: string) {
      return other !== 'backup';
    }
    reportProgress(share: number, message?: string) {
      this.heard.push([share, message]);
    }
  }

  it('brings its needs, its priority and its schema along, and hears of its progress', async () => {
    const source = new Compress();
    const registry = new ToolRegistry();
    registry.register(source as ParallelAgentTool);
    const compress = registry.resolve('compress');
    expect(compress).toMatchObject({
      description: 'makes it smaller',
      resources: { cpu: 0.5, memoryMb: 50, exclusive: ['disk'] },
      priority: 'high',
      isolation: 'inline',
    });
    const reported: unknown[] = [];
    const report = (...args: unknown[]) => void reported.push(args);
    const context = { id: 'a', attempt: 1, signal: new AbortController().signal, report, log: () => {} };
    expect(await compress.run!({ path: 'a' }, context)).toBe('a.gz');
    expect(reported).toEqual([[0.5, 'half']]);
    expect(source.heard).toEqual([[0.5, 'half']]);
  });

  it('conflicts with the tools that it cannot run in parallel with, also with those that come later', () => {
    const registry = new ToolRegistry();
    registry.register(new Compress() as ParallelAgentTool);
    const compress = registry.resolve('compress');
    expect(registry.conflictsOf(compress)).toEqual([]);
    registry.register(tool('backup'), tool('other'));
    expect(registry.conflictsOf(compress)).toEqual(['backup']);
    registry.unregister('backup');
    expect(registry.conflictsOf(compress)).toEqual([]);
  });

  it('has the defaults of every tool for what it leaves out', () => {
    const registry = new ToolRegistry();
    registry.register({ name: 'plain', execute: () => 1 });
    const plain = registry.resolve('plain');
    expect(plain).toMatchObject({ resources: undefined, priority: undefined, timeoutMs: undefined });
    expect(registry.conflictsOf(plain)).toEqual([]);
  });
});

describe('a tool that took the name of another', () => {
  it('has its own conflicts, even after those of the first were read', () => {
    const registry = new ToolRegistry();
    const agent = (other: string): ParallelAgentTool => ({
      name: 'same',
      execute: () => 1,
      canRunParallelWith: (name) => name !== other,
    });
    registry.register(tool('a'), tool('b'), agent('a'));
    const first = registry.resolve('same');
    registry.unregister('same');
    registry.register(agent('b'));
    expect(registry.conflictsOf(first)).toEqual(['a']);
    expect(registry.conflictsOf(registry.resolve('same'))).toEqual(['b']);
  });

  it('cannot promise its needs', () => {
    const resourceRequirements = async () => ({ cpu: 1 });
    const given = { name: 'same', execute: () => 1, resourceRequirements } as never;
    expect(failure(() => new ToolRegistry().register(given))).toMatch(/^INVALID_TOOL: .*a promise/);
  });
});

describe('a glob of names', () => {
  it('with stars enough to be matched in very many ways is refused', () => {
    const registry = new ToolRegistry();
    registry.register(tool('a'.repeat(128)));
    expect(failure(() => registry.list(`${'*a'.repeat(20)}*b`))).toContain('INVALID_VALUE');
    expect(registry.list('{*x*,*y*z*,*a*}')).toHaveLength(1);
  });
});
