import { expect, test } from 'vitest';
import { buildDashboard } from '../../scripts/build-dashboard.ts';
import type { WorkerStatus } from '../../src/coordinator/remote-runner.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { serve } from '../server/support/serve.ts';
import { put, texts } from '../tasks/support/feature.ts';
import { git } from '../tasks/workspace/support.ts';
import { openPage, picture, useBrowser, violations } from './support/browser.ts';

useBrowser();

const HOSTILE = '<img src=x onerror="document.title=1"> \u001b[2J\u001b]0;x\u0007 </script>';
const LINES = Number(process.env['VOLLEY_TEST_LINES'] ?? 200_000);
const LINES_PER_CHUNK = 1000;

const talks = defineTool({
  name: 'talks',
  run: async (_: object, { log, signal }) => {
    log(`first ${HOSTILE}`);
    for (let count = 1; !signal.aborted; count++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      log(`line ${count}`);
    }
  },
}) as Tool;

/** Each agent prints, and delivers what its subtask is about; that of 03 does not. */
const AGENT = `cat > /dev/null
echo "I read the task of $VOLLEY_SUBTASK."
echo '${HOSTILE.replaceAll('\u001b', '').replaceAll('\u0007', '')}'
echo "a warning" >&2
case $VOLLEY_SUBTASK in
03) exit 1;;
04) while :; do echo "still working"; sleep 0.2; done;;
*) mkdir -p src; printf 'export const x = 1;\\n// <b>bold</b>\\n' > "src/out-$VOLLEY_SUBTASK.ts";;
esac`;

const WORKER: WorkerStatus = {
  name: 'build-1',
  state: 'ready',
  host: 'build',
  pid: 7,
  version: '0.1.0',
  labels: { gpu: true },
  agents: { names: [], repositories: [] },
  tools: 2,
  lastHeardMs: 250,
  use: [{ name: 'memoryMb', used: 100, limit: 800 }],
  spare: 4,
  calls: [{ id: 'work#3/talk', toolName: 'talks' }],
  ended: { completed: 3, failed: 1, cancelled: 0 },
};

async function serveAll() {
  const served = await serve({
    tools: [talks],
    webFolder: await buildDashboard(),
    workers: { list: () => [WORKER], drain: async () => true },
    tasks: {
      agent: 'coder',
      review: true,
      worktrees: true,
      maxRetries: 0,
      agents: { coder: { command: ['/bin/sh', '-c', AGENT], env: {} } },
    },
  });
  const { folder, ask, store } = served;
  const subtasks = {
    '01': {
      title: 'Set up the session store',
      description: `Sessions are kept in SQLite.\n${HOSTILE}`,
      deliverables: ['src/out-01.ts'],
      acceptance_criteria: ['Sessions survive a restart', 'An expired session is refused'],
      verification: [{ type: 'file_contains', path: 'src/out-01.ts', text: 'export' }],
    },
    '02': { title: 'Sign-in form', deliverables: ['src/out-02.ts'], depends_on: ['01'] },
    '03': { title: 'Rate limit for wrong passwords', deliverables: ['src/out-03.ts'] },
    '04': { title: 'Audit log of sign-ins', deliverables: ['src/out-04.ts'] },
    '05': {
      title: 'Password reset by e-mail',
      deliverables: ['src/out-05.ts'],
      status: 'blocked',
      blocked_reason: 'No mail server yet',
    },
    '06': {
      title: 'Remove the old login',
      depends_on: ['02', '03'],
      status: 'pending',
      deliverables: ['src/out-06.ts'],
    },
  };
  const head = {
    name: 'Sign in',
    objective: 'People sign in with a password, and stay signed in for a week.',
  };
  for (const [name, text] of texts(subtasks, head)) put(folder, `.tmp/tasks/auth/${name}`, text);
  put(folder, '.gitignore', '.volley\n.tmp\n*.db*\n');
  git(folder, 'init', '-q');
  git(folder, 'add', '.');
  git(folder, 'commit', '-qm', 'start');
  await ask('add_batch', {
    batch: 'work',
    tasks: [
      { id: 'talk', name: 'Talk', function: 'talks', params: {} },
      { id: 'large', name: 'A large log', function: 'echo', params: {} },
    ],
  });
  for (let firstLine = 0; firstLine < LINES; firstLine += LINES_PER_CHUNK) {
    const lines = Array.from({ length: LINES_PER_CHUNK }, (_, place) => {
      const number = firstLine + place + 1;
      return {
        at: Date.UTC(2026, 1, 3) + number,
        stream: number % 50 === 0 ? ('stderr' as const) : ('stdout' as const),
        text: `${number}: ${number % 50_000 === 0 ? 'a needle in' : 'compiled'} src/components/part-${number % 977}.ts`,
      };
    });
    await store.addOutput('work', [{ seq: 2, attempt: 1, firstLine, lines }], 2 ** 30);
  }
  await ask('start', { batch: 'work' });
  return { ...served, subtasks };
}

const SIZES = [
  [1280, 800, 'light'],
  [390, 780, 'dark'],
  ...(process.env['VOLLEY_TEST_PICTURES'] === undefined
    ? []
    : ([
        [1280, 800, 'dark'],
        [768, 900, 'light'],
        [768, 900, 'dark'],
        [390, 780, 'light'],
      ] as const)),
] as const;

test('logs of any size and the board of a feature are shown, searched, followed and acted on', {
  timeout: 300_000,
}, async () => {
  const served = await serveAll();
  const { json, server } = served;
  const started = await json('POST', '/v1/features/auth/run', { subtasks: ['01', '03', '04'] });
  expect(started).toMatchObject({ status: 202 });
  const states = async () =>
    (await json('GET', '/v1/features/auth/board')).body.subtasks.map(({ state }: { state: string }) => state);
  await expect
    .poll(states, { timeout: 60_000 })
    .toEqual(['review', 'waiting', 'failed', 'running', 'blocked', 'waiting']);

  for (const [width, height, colorScheme] of SIZES) {
    const page = await openPage(server.pageAddress(), { viewport: { width, height }, colorScheme });
    const look = async (view: string) => {
      await picture(page, `operations-${width}-${colorScheme}-${view}`);
      expect(await violations(page), view).toEqual([]);
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(overflow, `${view} is broader than the screen`).toBeLessThanOrEqual(0);
    };
    const go = async (hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

    // A log that grows is followed.
    await page.getByRole('link', { name: 'work', exact: true }).waitFor();
    await go('#/batch/work/executions?task=talk&view=log');
    const last = async () =>
      Number((await page.locator('.log-text').last().textContent())?.slice('line '.length));
    await expect.poll(last).toBeGreaterThan(20);
    const before = await last();
    await expect.poll(last).toBeGreaterThan(before);
    await look('log');
    // A large one is read where it is looked at.
    await go('#/batch/work/executions?task=large&view=log');
    await page.getByText(`${LINES}: `).waitFor();
    await look('log-large');
    await page
      .getByLabel('Log', { exact: true })
      .evaluate((element) => element.scrollTo(0, element.scrollHeight / 2));
    const middle = async () => Number((await page.locator('.log-text').first().textContent())?.split(':')[0]);
    await expect
      .poll(async () => Math.abs((await middle()) / LINES - 0.5), { timeout: 60_000 })
      .toBeLessThan(0.01);
    expect(await page.locator('.log-row').count()).toBeLessThan(200);
    await page.getByLabel('Find in the log').fill('NEEDLE');
    await page.getByText(`${LINES / 50_000} lines`, { exact: true }).waitFor();
    await look('log-search');
    await page.getByRole('button', { name: 'Show line 50000 in the log' }).click();
    await page.getByText('50000: a needle').waitFor();
    await expect.poll(() => page.evaluate('location.hash')).toContain('line=50000');

    await go('#/features');
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    await look('features');
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Audit log of sign-ins' }).waitFor();
    await look('board');
    await page.getByRole('button', { name: 'Rate limit' }).click();
    await page
      .getByRole('heading', { name: 'Why the last attempt failed' })
      .or(page.getByRole('heading', { name: 'Deliverables' }))
      .first()
      .waitFor();
    await look('subtask-failed');
    await go('#/features?feature=auth&task=01');
    await page.getByRole('heading', { name: 'Waits for review' }).waitFor();
    await look('subtask');
    await page.getByRole('button', { name: 'Agent log' }).click();
    await page.getByText('I read the task of 01.').waitFor();
    await look('agent-log');
    await page.getByRole('button', { name: 'Diff', exact: true }).click();
    await page.getByText('+export const x = 1;').waitFor();
    await look('diff');
    await go('#/features?feature=auth&task=04&view=log');
    await page.getByText('still working').first().waitFor();
    await go('#/workers');
    // The number of the submission means nothing to people.
    await page.getByText('work/talk').waitFor();
    expect(await page.getByRole('meter', { name: 'Memory, MB' }).getAttribute('aria-valuenow')).toBe('100');
    await look('workers');
    await page.context().close();
  }

  // What can be done is done after a question.
  const page = await openPage(server.pageAddress());
  await page.getByRole('link', { name: 'work', exact: true }).waitFor();
  page.on('dialog', (dialog) => void dialog.accept());
  await page.evaluate(`location.hash = '#/features?feature=auth&task=01&view=diff'`);
  await page.getByRole('button', { name: 'Approve and merge' }).click();
  await expect.poll(async () => (await states())[0], { timeout: 60_000 }).toBe('completed');
  await page.getByRole('button', { name: 'Terminate agents' }).click();
  await page.getByRole('button', { name: 'Start agents' }).waitFor();
  await page.evaluate(`location.hash = '#/features?feature=auth&task=06'`);
  await page.getByRole('button', { name: 'Complete' }).click();
  await page.getByLabel('What was done').fill('Removed it.');
  await page.getByRole('button', { name: 'Verify and complete' }).click();
  await page.locator('.notice.is-error').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Report' }).click();
  await page.getByText('Set up the session store').waitFor();
  await picture(page, 'operations-report');
});
