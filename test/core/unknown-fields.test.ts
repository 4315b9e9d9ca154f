import { describe, expect, it } from 'vitest';
import { RESOURCE_TABLE } from '../../src/core/resource-table.ts';
import { simulate } from '../../src/core/simulate.ts';
import { ParallelExecutionEngine } from '../../src/engine/engine.ts';
import { defineTool } from '../../src/tools/define-tool.ts';

type Fields = Record<string, unknown>;

function refusal(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}

const run = () => 1;
const ENTRIES: Readonly<Record<string, { code: string; give: (fields: Fields) => unknown }>> = {
  defineTool: {
    code: 'INVALID_TOOL',
    give: (fields) => defineTool({ name: 'work', run, ...fields } as never),
  },
  submit: {
    code: 'INVALID_VALUE',
    give: (fields) => new ParallelExecutionEngine().submit({ toolName: 'work', ...fields }, run),
  },
  submitAll: {
    code: 'INVALID_VALUE',
    give: (fields) => new ParallelExecutionEngine().submitAll([{ toolName: 'work', run, ...fields }]),
  },
  check: {
    code: 'INVALID_VALUE',
    give: (fields) => new ParallelExecutionEngine().check({ toolName: 'work', ...fields }),
  },
  simulate: {
    code: 'INVALID_VALUE',
    give: (fields) => simulate([{ toolName: 'work', durationMs: 1, ...fields }], {}),
  },
};

type Mistake = readonly [Fields, { field: string; nearest: string | undefined }];

const RESOURCE_MISTAKES: readonly Mistake[] = [
  [{ resources: { exclusiv: ['db'] } }, { field: 'exclusiv', nearest: 'exclusive' }],
  [{ resources: { cpuWeight: 1 } }, { field: 'cpuWeight', nearest: undefined }],
  [{ resources: { cpu: 1, memoryMB: 10, gpus: 1 } }, { field: 'memoryMB', nearest: 'memoryMb' }],
  [{ resources: { memory_mb: 10 } }, { field: 'memory_mb', nearest: 'memoryMb' }],
  [{ resources: { gpu: '1' } }, { field: 'gpu', nearest: 'cpu' }],
];

const OTHER_MISTAKES: readonly Mistake[] = [
  [{ retry: { retries: 3 } }, { field: 'retries', nearest: 'maxRetries' }],
  [{ retry: { maxRetries: 1, delay: 3 } }, { field: 'delay', nearest: 'delayMs' }],
  [{ timeoutMS: 3 }, { field: 'timeoutMS', nearest: 'timeoutMs' }],
  [{ conflictWith: ['other'] }, { field: 'conflictWith', nearest: 'conflictsWith' }],
];

const DEMAND_FIELDS = [...RESOURCE_TABLE.map(({ need }) => need), 'exclusive', 'shared'];

describe.each(Object.entries(ENTRIES))('%s', (name, { code, give }) => {
  const resourceCode = name === 'defineTool' ? code : 'UNKNOWN_RESOURCE';

  it.each(OTHER_MISTAKES)('refuses %j with the nearest name', (fields, details) => {
    const error = refusal(() => give(fields)) as { code: string; details: Fields };
    expect(error).toMatchObject({ code });
    if (name !== 'defineTool' || 'retry' in fields) expect(error.details).toEqual(details);
  });

  it.each(RESOURCE_MISTAKES)('refuses %j with the nearest and all known names', (fields, details) => {
    expect(refusal(() => give(fields))).toMatchObject({
      code: resourceCode,
      details: { ...details, known: DEMAND_FIELDS },
    });
  });

  it('refuses it also after objects with other fields, and takes those again', () => {
    expect(refusal(() => give({ resources: { cpu: 0.2, io: 'low' } }))).toBeUndefined();
    expect(refusal(() => give({ resources: { cpu: 0.2, oi: 'low' } }))).toMatchObject({
      code: resourceCode,
    });
    expect(refusal(() => give({ resources: { io: 'low', cpu: 0.2 } }))).toBeUndefined();
  });

  it('takes every resource, both kinds of locks, and what is undefined', () => {
    const resources = Object.fromEntries(
      RESOURCE_TABLE.map(({ need, written }) => [
        need,
        written === 'number' ? 0.5 : written === 'flag' ? true : 'low',
      ]),
    );
    const fields = { resources: { ...resources, exclusive: ['a'], shared: ['b'], gpu: undefined } };
    expect(refusal(() => give(fields))).toBeUndefined();
  });
});
