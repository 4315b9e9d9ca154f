import { expect, it } from 'vitest';
import { runBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';

const TOOLS = `
{define}
export default defineTool({ name: 'wait', run: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms)) });
`;

it('10 waiting tasks, 5 at a time, take the real program at most 0.3 of the time one after another', async () => {
  const tasks = Array.from({ length: 10 }, () => ({ function: 'wait', params: { ms: 4000 } }));
  const folder = project({
    'volley.toml': '[tools]\nmodules = ["./tools.mjs"]\n',
    'tools.mjs': TOOLS,
    'work.json': JSON.stringify(tasks),
  });
  const start = performance.now();
  expect(await runBuilt(folder, ['run', 'work.json', '--max-concurrent', '5'])).toMatchObject({ status: 0 });
  expect(performance.now() - start).toBeLessThanOrEqual(0.3 * 10 * 4000);
}, 60_000);
