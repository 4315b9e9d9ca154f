import { describe, expect, it } from 'vitest';
import { loadCode } from '../../src/runners/load-code.ts';
import type { ToolContext, ToolRun } from '../../src/runners/runner.ts';
import { rejectionOf } from '../engine/support/errors.ts';

const TOOLS = new URL('./fixtures/tools.mjs', import.meta.url).href;
const context = {} as ToolContext;

function fromModule(exportName: string, toolName = 'tool', url = TOOLS): Promise<ToolRun> {
  return loadCode({ kind: 'module', url, exportName }, toolName);
}

function fromText(text: string): Promise<ToolRun> {
  return loadCode({ kind: 'source', text }, 'tool');
}

describe('the code of a tool', () => {
  it('is an export that is a function, a tool, or the tool of that name in a list', async () => {
    expect((await fromModule('default'))(4, context)).toBe(8);
    expect((await fromModule('tool'))(4, context)).toBe(12);
    expect((await fromModule('list', 'wanted'))(4, context)).toBe('wanted 4');
  });

  it('must be there: the error says what the export is instead, or which exports there are', async () => {
    const failures: [string, string, RegExp][] = [
      ['missing', 'tool', /"missing" .* does not exist; it has .*\bdefault\b.*\blist\b/],
      ['number', 'tool', /but it is 7/],
      ['list', 'unheard', /a list without a tool "unheard"/],
    ];
    for (const [exportName, toolName, message] of failures) {
      const error = await rejectionOf(fromModule(exportName, toolName));
      expect(error).toMatchObject({ code: 'INVALID_MODULE', message: expect.stringMatching(message) });
    }
    const error = await rejectionOf(fromModule('default', 'tool', `${TOOLS}.missing`));
    expect(error).toMatchObject({
      code: 'INVALID_MODULE',
      message: expect.stringContaining('cannot be loaded'),
    });
    expect((error as Error).cause).toBeInstanceOf(Error);
  });

  it('is the text of a function in whatever way it was written', async () => {
    const texts = [
      '(input) => input + 1',
      'async (input) => input + 1',
      'function (input) { return input + 1; }',
      'async function named(input) { return input + 1; }',
      'run(input) { return input + 1; }',
      'async run(input) { return input + 1; }',
      'async "with spaces"(input) { return input + 1; }',
      '(input) => input + 1 // a remark at the end',
      '(input) => { const inner = __name(() => input + 1, "inner"); return inner(); }',
    ];
    for (const text of texts) expect(await (await fromText(text))(4, context), text).toBe(5);
  });

  it('can import inside the text, packages as seen from the working directory', async () => {
    const text =
      'async (names) => Promise.all(names.map(async (name) => typeof (await import(name)).default))';
    expect(await (await fromText(text))(['node:path', 'picomatch'], context)).toEqual(['object', 'function']);
  });

  it('must be the text of a function', async () => {
    for (const text of ['3', '{', 'function () { [native code] }', '']) {
      const error = await rejectionOf(fromText(text));
      expect(error).toMatchObject({ code: 'INVALID_TOOL', message: expect.stringContaining('"tool"') });
    }
  });

  it('explains a name that only the module around the function knows, and no other error', async () => {
    for (const text of ['() => outside', 'async () => { await 0; return outside; }']) {
      const call = async () => (await fromText(text))(0, context);
      const error = (await rejectionOf(call())) as Error;
      expect(error).toBeInstanceOf(ReferenceError);
      expect(error.message).toMatch(/^outside is not defined\. .*sent as text/);
      expect(error.stack).toMatch(/tool-tool\.source\.js:1:\d+/);
    }
    const own = async () => (await fromText('() => { throw new TypeError("mine") }'))(0, context);
    expect(await rejectionOf(own())).toMatchObject({ name: 'TypeError', message: 'mine' });
  });
});
