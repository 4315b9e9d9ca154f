import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';

/** `quick` ends at once; `safe` and `unsafe` never end where they hang, and only the first may run twice. */
export function notingTools(note: (line: string) => void, hang: boolean): Tool[] {
  const tool = (name: string, idempotent: boolean, hangs: boolean) =>
    defineTool<{ key: string }>({
      name,
      idempotent,
      run: ({ key }) => {
        note(key);
        return hangs ? new Promise<never>(() => {}) : { key };
      },
    }) as Tool;
  return [tool('quick', false, false), tool('safe', true, hang), tool('unsafe', false, hang)];
}
