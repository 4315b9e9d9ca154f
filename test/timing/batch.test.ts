import { expect, it } from 'vitest';
import { runBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';

const TOOLS = `
{define}
export default defineTool({ name: 'wait', run: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms)) });
`;
const COUNT = 10;
/** What the program needs to start is more of a short time, so a slow or busy machine gets longer ones as well. */
const TASK_MS = [1000, 2000, 4000, 12_000];

it('10 waiting tasks, 5 at a time, take the real program at most 0.3 of the time one after another', async () => {
  const shares: number[] = [];
  for (const ms of TASK_MS) {
    const tasks = Array.from({ length: COUNT }, () => ({ function: 'wait', params: { ms } }));
    const folder = project({
      'volley.toml': '[tools]\nmodules = ["./tools.mjs"]\n',
      'tools.mjs': TOOLS,
      'work.json': JSON.stringify(tasks),
    });
    const start = performance.now();
    expect(await runBuilt(folder, ['run', 'work.json', '--max-concurrent', '5'])).toMatchObject({
      status: 0,
    });
    shares.push((performance.now() - start) / (COUNT * ms));
    if (shares.at(-1)! <= 0.3) break;
  }
  expect(Math.min(...shares)).toBeLessThanOrEqual(0.3);
}, 240_000);
