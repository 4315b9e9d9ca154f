import { describe, expect, test } from 'vitest';
import { HeldCalls, openRig } from '../batch/support/rig.ts';
import { gate } from '../engine/support/gate.ts';
import { openPage, picture, useBrowser } from './support/browser.ts';
import { serveDashboard } from './support/dashboard.ts';

useBrowser();

const TASKS = ['a', 'b', 'c'].map((key) => ({ id: key, function: 'held', params: { key } }));

describe('the connection', { timeout: 60_000 }, () => {
  test('that is lost is told, and comes back by itself with all that happened meanwhile', async () => {
    const held = new HeldCalls();
    const { pageAddress, rig, stop, startAgain } = await serveDashboard(held.tool());
    await rig.ask('add_batch', { batch: 'long', tasks: TASKS });
    const page = await openPage(pageAddress());
    await page.getByRole('link', { name: 'long' }).click();
    await page.locator('[data-task="a"]').getByText('Waiting').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();

    await stop();
    await page.getByRole('alert').getByText('The server').waitFor();
    await page.getByText('Reconnecting').waitFor();
    await picture(page, 'lost');

    await rig.store.addTasks('long', [{ id: 'd', name: 'd', function: 'echo', params: '{}', options: {} }]);
    held.finish('a');
    held.finish('b');
    await startAgain();
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByText('Live', { exact: true }).waitFor();
    await page.locator('[data-task="d"]').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);

    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.locator('[data-task="a"]').getByText('Completed').waitFor();
    held.finish('c');
    await page.getByText('4 of 4').waitFor();
    await page.locator('[data-task="c"]').getByText('Completed').waitFor();
  });

  test('is found again without anybody doing anything', async () => {
    const { pageAddress, rig, stop, startAgain } = await serveDashboard();
    await rig.ask('add', { batch: 'small', function: 'echo' });
    const page = await openPage(pageAddress());
    await page.getByRole('link', { name: 'small' }).waitFor();
    await stop();
    await page.getByText('Reconnecting').waitFor();
    await startAgain();
    await page.getByText('Live', { exact: true }).waitFor();
  });

  test('has no fault where a batch is not there, and shows the batch when it comes', async () => {
    const { pageAddress, rig } = await serveDashboard();
    const page = await openPage(pageAddress());
    await page.getByText('Live', { exact: true }).waitFor();
    await page.evaluate("location.hash = '#/batch/later'");
    await page.getByText('There is no batch called').waitFor();
    await expect.poll(() => page.locator('.header').getByRole('status').count()).toBe(0);
    await rig.ask('add', { batch: 'later', id: 'first', function: 'echo' });
    await page.locator('[data-task="first"]').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
  });
});

describe('an answer that is older than the events before it', { timeout: 60_000 }, () => {
  test.each([
    ['of the list', '**/v1/batches?*'],
    ['of the batch', '**/v1/batches/race'],
    ['of its rows', '**/v1/executions?*'],
  ])('does not undo them: %s', async (_, path) => {
    const held = new HeldCalls();
    const { pageAddress, rig } = await serveDashboard(held.tool());
    await rig.ask('add_batch', { batch: 'race', tasks: TASKS.slice(0, 1) });
    await rig.ask('start', { batch: 'race' });
    await held.started('a');
    const page = await openPage(pageAddress());
    await page.getByRole('link', { name: 'race' }).waitFor();
    if (!path.endsWith('batches?*')) await page.getByRole('link', { name: 'race' }).click();
    const asked = gate<void>();
    const released = gate<void>();
    const delivered = gate<void>();
    await page.route(
      path,
      async (route) => {
        const response = await route.fetch();
        asked.open();
        await released.passed;
        await route.fulfill({ response });
        delivered.open();
      },
      { times: 1 },
    );
    await page.reload();
    await asked.passed;
    held.finish('a');
    await rig.ask('wait', { batch: 'race' });
    // A list that was not read yet is not shown.
    if (!path.endsWith('batches?*')) await page.getByText('1 of 1').waitFor();
    released.open();
    await delivered.passed;
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    expect(
      await page
        .getByText(/\d of 1/)
        .first()
        .textContent(),
    ).toContain('1 of 1');
    if (path.includes('executions')) await page.locator('[data-task="a"]').getByText('Completed').waitFor();
  });
});

describe('a batch of another process', { timeout: 60_000 }, () => {
  test('is shown as it goes on, to its end', async () => {
    const { pageAddress, rig } = await serveDashboard();
    const held = new HeldCalls();
    const other = await openRig([held.tool()], undefined, rig.file);
    await other.ask('add_batch', { batch: 'theirs', tasks: TASKS });
    await other.ask('start', { batch: 'theirs' });
    await held.started('c');
    const page = await openPage(pageAddress());
    await page.getByRole('link', { name: 'theirs' }).click();
    await page.locator('[data-task="a"]').getByText('Running').waitFor();
    held.finish('a');
    await page.locator('[data-task="a"]').getByText('Completed').waitFor();
    held.finish('b');
    held.finish('c');
    await page.locator('[data-task="b"]').getByText('Completed').waitFor();
    await page.locator('[data-task="c"]').getByText('Completed').waitFor();
  });
});

describe('the key', { timeout: 60_000 }, () => {
  test('is gone from the address and the history, and works once', async () => {
    const { pageAddress } = await serveDashboard();
    const address = pageAddress();
    const page = await openPage(address);
    await page.getByRole('heading', { name: 'Batches' }).waitFor();
    expect(page.url()).not.toContain('key');
    await page.reload();
    await page.getByRole('heading', { name: 'Batches' }).waitFor();
    await page.goBack();
    expect(page.url()).not.toContain('key');

    const stranger = await openPage(address);
    await stranger.getByRole('alert').getByText('used before').waitFor();
    await picture(stranger, 'sign-in');
    await stranger.getByLabel('Address or key').fill(pageAddress());
    await stranger.getByRole('button', { name: 'Sign in' }).click();
    await stranger.getByRole('heading', { name: 'Batches' }).waitFor();
  });

  test('is needed', async () => {
    const { pageAddress } = await serveDashboard();
    const page = await openPage(pageAddress().replace(/#.*/, ''));
    await page.getByRole('heading', { name: 'Open the address with its key' }).waitFor();
  });
});
