import { describe, expect, test } from 'vitest';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { HeldCalls } from '../batch/support/rig.ts';
import { gate } from '../engine/support/gate.ts';
import { openPage, picture, useBrowser } from './support/browser.ts';
import { serveDashboard } from './support/dashboard.ts';

useBrowser();

const BATCH = {
  batch: 'deploy',
  tasks: [
    { id: 'build', name: 'Build', function: 'held', params: { key: 'build' } },
    { id: 'lint', function: 'held', params: { key: 'lint' } },
    { id: 'ship', function: 'held', params: { key: 'ship' }, depends_on: ['build'] },
  ],
};

describe('the dashboard', () => {
  test('starts a pasted batch and shows it live until it is done', async () => {
    const held = new HeldCalls();
    const { pageAddress } = await serveDashboard(held.tool());
    const page = await openPage(pageAddress());
    await page.getByText('No batches yet').waitFor();
    await page.getByText('volley init && volley run volley-example.json').waitFor();
    await picture(page, 'empty');

    await page.getByRole('button', { name: 'add tasks here' }).click();
    await page.getByRole('radio', { name: 'A pasted batch' }).check();
    const pasted = page.getByLabel('Tasks, as JSON or JSON Lines');
    await pasted.fill(JSON.stringify(BATCH));
    await page.keyboard.press('Escape');
    await pasted.waitFor({ state: 'detached' });
    await page.keyboard.press('n');
    expect(await pasted.inputValue()).toBe(JSON.stringify(BATCH));
    // It is done, but the answer does not arrive: the same again is not done twice.
    await page.route('**/v1/batches', (route) => route.fetch().then(() => route.abort()), { times: 1 });
    await page.getByRole('button', { name: 'Add and start' }).click();
    await page.getByRole('alert').getByText('cannot be reached').waitFor();
    await page.getByRole('button', { name: 'Add and start' }).click();

    await page.getByRole('heading', { name: 'deploy' }).waitFor();
    const rowOf = (id: string) => page.locator(`[data-task="${id}"]`);
    await rowOf('build').getByText('Running').waitFor();
    await rowOf('lint').getByText('Running').waitFor();
    await rowOf('ship').getByText('after build').waitFor();

    held.finish('build', { artefact: 'app.tgz' });
    await rowOf('build').getByText('Completed').waitFor();
    await rowOf('ship').getByText('Running').waitFor();
    held.finish('lint');
    held.finish('ship');
    await page.getByText('Done', { exact: true }).first().waitFor();
    await page.getByText('3 of 3').waitFor();
    expect(await page.getByRole('progressbar').getAttribute('aria-valuenow')).toBe('100');

    await rowOf('build').click();
    await page.getByText('"artefact": "app.tgz"').waitFor();
    await page.getByRole('complementary').getByRole('button', { name: 'ship' }).waitFor();
    await picture(page, 'done');
    await page.keyboard.press('Escape');
    await page.clock.setFixedTime(Date.now() + 24 * 3_600_000);
    await rowOf('build')
      .getByText(/^\d+ \w+ \d\d:\d\d:\d\d$/)
      .waitFor();
  });

  test('fills in one task by its schema, says what is wrong with it, and starts it', async () => {
    const { pageAddress, rig } = await serveDashboard();
    const page = await openPage(pageAddress());
    await page.route('**/v1/tools', async (route) => {
      const response = await route.fetch();
      const missing_servers = [{ name: 'notes', problem: 'It cannot be started.' }];
      await route.fulfill({ response, json: { ...(await response.json()), missing_servers } });
    });
    await page.getByRole('button', { name: 'New tasks' }).click();
    await page
      .getByText('The functions of the MCP server notes are missing: It cannot be started.')
      .waitFor();
    await page.getByLabel('Function').selectOption('read_file');
    await page.getByRole('radio', { name: 'JSON' }).check();
    const params = page.getByLabel('Arguments, as JSON');
    expect(JSON.parse(await params.inputValue())).toEqual({ path: '' });
    await page.getByRole('region', { name: 'About read_file' }).getByText('required').first().waitFor();
    await params.fill('{"path": }');
    await page.getByRole('button', { name: 'Add and start' }).click();
    await page.getByRole('alert').getByText('The arguments are no JSON').waitFor();
    await params.fill('{}');
    await page.getByRole('button', { name: 'Add and start' }).click();
    await page.getByRole('alert').getByText('path').waitFor();
    await picture(page, 'add');
    await page.getByRole('radio', { name: 'Form' }).check();
    const path = page.getByRole('textbox', { name: 'path required' });
    expect(await path.getAttribute('aria-invalid')).toBe('true');
    await path.fill('none.txt');
    await page.getByLabel('Batch', { exact: true }).fill('one');
    await page.getByRole('button', { name: 'Add and start' }).click();
    await page.getByText('Ended with failures').waitFor();
    expect(await rig.standing('one')).toHaveLength(1);
  });

  test('acts on several batches at once, says what happened to each, and shows the same to others', async () => {
    const { pageAddress, rig } = await serveDashboard();
    for (const batch of ['one', 'two', 'ended']) {
      await rig.ask('add_batch', { batch, tasks: [{ id: 'needle', function: 'echo' }] });
    }
    await rig.ask('start', { batch: 'ended', wait: true });
    const page = await openPage(pageAddress());
    await page.getByLabel('Select all that are shown').check();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('left alone: nothing left to run').waitFor();
    await dialog.getByRole('button', { name: 'Start 2 batches' }).click();
    await dialog.getByText('2 done, 0 failed').waitFor();
    for (const batch of ['one', 'two']) {
      await rig.ask('wait', { batch });
      expect(await rig.standing(batch)).toEqual(['needle completed']);
    }
    await page.keyboard.press('Escape');
    await page.getByLabel('Search names').fill('tw');
    await page.getByRole('link', { name: 'one' }).waitFor({ state: 'detached' });
    await page.waitForURL(/#\/\?q=tw$/);
    await page.reload();
    await page.getByRole('link', { name: 'two' }).waitFor();
    expect(await page.getByRole('link', { name: 'one' }).count()).toBe(0);
  });

  test('cancels one execution, and what depends on it is skipped', async () => {
    const held = new HeldCalls();
    const { pageAddress, rig } = await serveDashboard(held.tool());
    await rig.ask('add_batch', BATCH);
    await rig.ask('start', { batch: 'deploy' });
    await held.started('build');
    const page = await openPage(pageAddress());
    await page.getByRole('link', { name: 'deploy' }).click();
    await page.locator('[data-task="build"]').click();
    const cancel = page.getByRole('complementary').getByRole('button', { name: 'Cancel' });
    const questions: string[] = [];
    page.on('dialog', (dialog) => {
      questions.push(dialog.message());
      void (questions.length === 1 ? dialog.dismiss() : dialog.accept());
    });
    await cancel.click();
    expect(questions).toEqual([expect.stringContaining('Cancel this execution?')]);
    expect((await rig.store.task('deploy', 'build'))?.status).toBe('running');
    await cancel.click();
    await page.locator('[data-task="build"]').getByText('Cancelled').waitFor();
    await page.locator('[data-task="ship"]').getByText('Skipped').waitFor();
    held.finish('lint');
    await page.getByText('Ended with failures').waitFor();
    expect((await rig.store.task('deploy', 'build'))?.status).toBe('cancelled');
  });

  test('tells of a pause before a retry, also to a page that is loaded in it', async () => {
    const late = defineTool({
      name: 'late',
      idempotent: true,
      retry: { maxRetries: 1, delayMs: 3_600_000, maxDelayMs: 3_600_000, jitter: 0 },
      run: () => {
        throw new Error('not yet');
      },
    }) as Tool;
    const { pageAddress, rig } = await serveDashboard(late);
    await rig.ask('add', { batch: 'slow', id: 'a', function: 'late' });
    await rig.ask('start', { batch: 'slow' });
    await expect.poll(async () => rig.executor.pause((await rig.store.task('slow', 'a'))!)).toBeDefined();
    const page = await openPage(pageAddress());
    await page.getByRole('link', { name: 'slow' }).click();
    const row = page.locator('[data-task="a"]');
    await row.getByText('Retrying').waitFor();
    await row.getByText(/^error, next try in (1 h|59 min)/).waitFor();
    await row.click();
    const panel = page.getByRole('complementary');
    await panel.getByRole('heading', { name: 'Why it waits' }).waitFor();
    await panel.getByText('not yet', { exact: true }).waitFor();
    expect(await panel.getByText('next try').count()).toBe(0);
  });

  test('says why one waits, and retries a failed one', async () => {
    const held = new HeldCalls();
    const halfway = gate();
    const stuck = gate();
    let isBroken = true;
    const shaky = defineTool({
      name: 'shaky',
      run: async (_, { report }) => {
        await halfway.passed;
        report(0.5, 'linking');
        await stuck.passed;
        if (isBroken) throw new Error('the disk is full');
        return 'built';
      },
    }) as Tool;
    const { pageAddress, rig } = await serveDashboard(held.tool(), shaky);
    const [build, ...others] = BATCH.tasks;
    await rig.ask('add_batch', { batch: 'deploy', tasks: [{ ...build, function: 'shaky' }, ...others] });
    await rig.ask('start', { batch: 'deploy' });
    const page = await openPage(pageAddress());
    await page.getByRole('link', { name: 'deploy' }).click();
    await page.locator('[data-task="ship"]').click();
    const panel = page.getByRole('complementary');
    await panel.getByRole('heading', { name: 'Why it waits' }).waitFor();
    await panel.getByText('build', { exact: false }).first().waitFor();
    await picture(page, 'why');

    await page.locator('[data-task="build"]').click();
    await panel.getByRole('heading', { name: 'Attempts' }).waitFor();
    halfway.open();
    await panel.getByText('linking').waitFor();

    held.finish('lint');
    stuck.open();
    await page.locator('[data-task="build"]').getByText('Failed').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('[data-task="build"]').getByText('the disk is full').waitFor();
    await page.locator('[data-task="build"]').click();
    await panel.getByText('the disk is full').first().waitFor();
    await page.getByText('Ended with failures').waitFor();
    await picture(page, 'failed');

    isBroken = false;
    await panel.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('2 tasks opened again, to run.').waitFor();
    await page.locator('[data-task="ship"]').getByText('Running').waitFor();
    held.finish('ship');
    await page.getByText('Done', { exact: true }).first().waitFor();
    expect(await rig.standing('deploy')).toEqual(['build completed', 'lint completed', 'ship completed']);
  });
});
