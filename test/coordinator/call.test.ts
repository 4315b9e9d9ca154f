import { describe, expect, it } from 'vitest';
import { ParallelToolCoordinator } from '../../src/coordinator/coordinator.ts';
import { builtinTools } from '../../src/tools/builtin/all.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { BUILTIN_TOOLS } from '../../src/tools/registry.ts';
import { openTestCoordinator } from './support.ts';

const count = defineTool({
  name: 'count',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: ({ text }) => ({ length: text.length }),
});

describe('call', () => {
  it('runs one call of a tool', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(count);
    const result = await coordinator.call(count, { text: 'abc' }, { id: 'mine', priority: 'high' });
    expect(result).toMatchObject({ id: 'mine', name: 'count', status: 'completed', value: { length: 3 } });
  });

  it('runs a call of an object with execute()', async () => {
    const { coordinator } = openTestCoordinator();
    const double = { name: 'double', execute: ({ n }: { n: number }) => n * 2 };
    coordinator.register(double);
    expect(await coordinator.call(double, { n: 4 })).toMatchObject({ status: 'completed', value: 8 });
  });

  it('answers wrong arguments with a failed result', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(count);
    expect(await coordinator.call(count, {} as { text: string })).toMatchObject({
      status: 'failed',
      error: { code: 'INVALID_ARGUMENTS' },
    });
  });

  it('is cancelled by its signal', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(count);
    const result = await coordinator.call(count, { text: '' }, { signal: AbortSignal.abort('enough') });
    expect(result).toMatchObject({ status: 'cancelled', reason: 'enough' });
  });

  it('refuses a tool that is not registered, even if another has its name', async () => {
    const { coordinator } = openTestCoordinator();
    const refusal = { code: 'UNKNOWN_TOOL' };
    await expect(coordinator.call(count, { text: '' })).rejects.toMatchObject(refusal);
    coordinator.register(defineTool({ name: 'count', run: () => 0 }));
    await expect(coordinator.call(count, { text: '' })).rejects.toMatchObject(refusal);
    await expect(coordinator.call('count' as never, {} as never)).rejects.toMatchObject({
      code: 'INVALID_VALUE',
    });
  });

  it('refuses an unknown option', async () => {
    const { coordinator } = openTestCoordinator();
    coordinator.register(count);
    const options = { timeout: 5 } as object;
    await expect(coordinator.call(count, { text: '' }, options)).rejects.toMatchObject({
      code: 'INVALID_CALL',
    });
  });
});

describe('a coordinator', () => {
  const names = (coordinator: ParallelToolCoordinator) => coordinator.tools().map(({ name }) => name);

  it('has no tools but those that were registered', async () => {
    await using coordinator = new ParallelToolCoordinator();
    expect(coordinator.tools()).toEqual([]);
    coordinator.register(count);
    expect(names(coordinator)).toEqual(['count']);
  });

  it('says how to register a built-in tool that is called', async () => {
    await using coordinator = new ParallelToolCoordinator();
    for (const name of BUILTIN_TOOLS)
      expect(await coordinator.executeSingle({ name, arguments: { expression: '1' } })).toMatchObject({
        status: 'failed',
        error: { code: 'UNKNOWN_TOOL', message: expect.stringContaining('builtinTools()') },
      });
  });

  it('gets the built-in tools by registering them, within its own roots', async () => {
    const { coordinator } = openTestCoordinator((config) => ({
      ...config,
      http: { ...config.http, enabled: true },
      shell: { ...config.shell, enabled: true },
    }));
    expect(names(coordinator)).toEqual([...BUILTIN_TOOLS].sort());
    expect(
      await coordinator.executeSingle({ name: 'read_file', arguments: { path: '/etc/passwd' } }),
    ).toMatchObject({ status: 'failed', error: { code: 'PATH_NOT_ALLOWED' } });
  });

  it('has none that can change files with write: false', async () => {
    await using coordinator = new ParallelToolCoordinator();
    coordinator.register(builtinTools({ write: false }));
    const unsafe = coordinator.tools().filter(({ readOnly }) => !readOnly);
    // A program can only call the tools that are registered.
    expect(unsafe.map(({ name }) => name)).toEqual(['run_program']);
    for (const name of ['write_file', 'shell'])
      expect(await coordinator.executeSingle({ name })).toMatchObject({
        error: { code: 'TOOL_NOT_ALLOWED' },
      });
  });

  it('registers all of them or none', async () => {
    await using coordinator = new ParallelToolCoordinator();
    const taken = defineTool({ name: 'read_file', run: () => 0 });
    expect(() => coordinator.register(taken, builtinTools())).toThrow(
      expect.objectContaining({ code: 'DUPLICATE_TOOL' }),
    );
    expect(coordinator.tools()).toEqual([]);
  });

  it('refuses options of the built-in tools that do not exist', () => {
    for (const options of [{ writable: false }, { write: 'no' }, null])
      expect(() => builtinTools(options as object)).toThrow(
        expect.objectContaining({ code: 'INVALID_VALUE' }),
      );
  });
});

describe('a tool that may not run beside itself', () => {
  it.each([
    ['by its conflicts', { conflictsWith: ['alone'] }],
    ['by canRunParallelWith()', { canRunParallelWith: (other: string) => other !== 'alone' }],
  ])('runs one call at a time: %s', async (_, rule) => {
    const { coordinator } = openTestCoordinator();
    let [running, highest] = [0, 0];
    const execute = async () => {
      highest = Math.max(highest, ++running);
      await new Promise(setImmediate);
      running--;
    };
    coordinator.register({ name: 'alone', execute, ...rule });
    await coordinator.executeParallel(Array.from({ length: 5 }, () => ({ name: 'alone' })));
    expect(highest).toBe(1);
  });
});
