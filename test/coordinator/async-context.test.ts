import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, it } from 'vitest';
import { defineTool } from '../../src/tools/define-tool.ts';
import { openTestCoordinator } from './support.ts';

it('a call runs in the async context of its caller, also where its needs are known only when it begins', async () => {
  const user = new AsyncLocalStorage<string>();
  const { coordinator } = openTestCoordinator();
  coordinator.register(
    defineTool({ name: 'look', run: () => user.getStore() }),
    defineTool({
      name: 'look_with_needs',
      resources: ({ cpu }: { cpu: number }) => ({ cpu }),
      run: () => user.getStore(),
    }),
  );
  const seenBy = (name: string) =>
    user.run(name, () =>
      coordinator.executeParallel([
        { id: 'first', name: 'look' },
        { id: 'second', name: 'look_with_needs', arguments: { cpu: { $from: 'needs', path: '/cpu' } } },
        { id: 'needs', name: 'echo', arguments: { cpu: 0.5 } },
      ]),
    );
  coordinator.register(defineTool({ name: 'echo', run: (input) => input }));
  for (const results of await Promise.all(
    ['ann', 'bob'].map(async (name) => ({ name, all: await seenBy(name) })),
  ))
    expect(results.all.slice(0, 2)).toMatchObject([{ value: results.name }, { value: results.name }]);
});
