import { ParallelExecutionEngine, type ToolFunction } from 'volley';

// #region nesting
const engine = new ParallelExecutionEngine({ maxConcurrency: 1 });

/** Counts the nodes of a tree; each node is an execution of its own. */
const count =
  (depth: number): ToolFunction<number> =>
  async ({ submit }) => {
    if (depth === 0) return 1;
    const children = [1, 2].map(() => submit({ toolName: 'count' }, count(depth - 1)));
    const sizes = await Promise.all(children.map((child) => child.wait()));
    return 1 + sizes.reduce((sum, size) => sum + size);
  };

console.log(await engine.submit({ toolName: 'count' }, count(3)).wait());
// #endregion nesting

await engine.close();
