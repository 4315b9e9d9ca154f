import { describe, expect, test } from 'vitest';
import { HeldCalls, openRig } from '../batch/support/rig.ts';
import { gate } from '../engine/support/gate.ts';
import { openPage, picture, useBrowser } from './support/browser.ts';
import { serveDashboard } from './support/dashboard.ts';

useBrowser();

const TASKS = ['a', 'b', 'c'].map((key) => ({ id: key, function: 'held', params: { key } }));

describe('the connection', () => {
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
    // Unless it has come back before the click.
    const live = page.getByText('Live', { exact: true });
    await Promise.any([page.getByRole('button', { name: 'Try now' }).click(), live.waitFor()]);
    await live.waitFor();
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

  test('is left to others while nobody sees the page, and taken up again with what happened meanwhile', async () => {
    const { pageAddress, rig } = await serveDashboard();
    await rig.ask('add', { batch: 'small', id: 'first', function: 'echo' });
    const page = await openPage(pageAddress());
    await page.clock.install();
    const show = (isShown: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${!isShown}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);
    const streams = () =>
      page.evaluate(`fetch('v1/statistics').then((one) => one.json()).then((one) => one.subscribers)`);
    await page.getByRole('link', { name: 'small' }).click();
    await page.locator('[data-task="first"]').waitFor();
    await expect.poll(streams).toBe(1);
    await show(false);
    await page.clock.fastForward(5000);
    await expect.poll(streams).toBe(0);
    await rig.ask('add', { batch: 'small', id: 'second', function: 'echo' });
    await show(true);
    await page.locator('[data-task="second"]').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await expect.poll(streams).toBe(1);
  });

  test('is shared by many windows: one too many says so, is read now and then, and is live when another closes', async () => {
    const { pageAddress, rig } = await serveDashboard();
    await rig.ask('add', { batch: 'small', id: 'first', function: 'echo' });
    const first = await openPage(pageAddress());
    await first.getByRole('link', { name: 'small' }).waitFor();
    const address = `${first.url().replace(/#.*/, '')}#/batch/small`;
    const windows = [first];
    for (let count = 2; count <= 7; count++) {
      const page = await first.context().newPage();
      windows.push(page);
      await page.clock.install();
      await page.goto(address);
      await page.locator('[data-task="first"]').waitFor();
    }
    const last = windows.at(-1)!;
    await last.getByText('Too many windows of the dashboard are open').waitFor();
    await picture(last, 'crowded');
    await rig.ask('add', { batch: 'small', id: 'second', function: 'echo' });
    await last.clock.fastForward(10_000);
    await last.locator('[data-task="second"]').waitFor();
    await last.getByText('of 2', { exact: false }).first().waitFor();
    await first.close();
    await windows[1]!.close();
    await last.getByText('Live', { exact: true }).waitFor();
    expect(await last.getByText('Too many windows').count()).toBe(0);
  });

  test('that the server refuses is told, and what happens is read all the same', async () => {
    const { pageAddress, rig, stop, startAgain } = await serveDashboard();
    await rig.ask('add', { batch: 'small', id: 'first', function: 'echo' });
    const page = await openPage(pageAddress());
    await page.route('**/events', (route) => route.fulfill({ status: 429 }));
    await page.getByRole('link', { name: 'small' }).click();
    await page.getByText('The server has no live connection to spare').waitFor();
    await rig.ask('add', { batch: 'small', id: 'second', function: 'echo' });
    await page.locator('[data-task="second"]').waitFor();
    await page.unroute('**/events');
    await page.getByText('Live', { exact: true }).waitFor();

    // What was cleared while the server was away is gone, and the server is not.
    await stop();
    await page.getByText('Reconnecting').waitFor();
    await rig.store.clear('small');
    await startAgain();
    await page.getByText('There is no batch called').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
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

describe('the clock of the browser', () => {
  test('does not count, be it behind or ahead', async () => {
    const held = new HeldCalls();
    const { pageAddress, rig } = await serveDashboard(held.tool());
    await rig.ask('add_batch', { batch: 'timed', tasks: TASKS.slice(0, 1) });
    await rig.ask('start', { batch: 'timed' });
    const page = await openPage(pageAddress());
    await page.getByRole('link', { name: 'timed' }).click();
    const duration = page.locator('[data-task="a"] .cell-duration');
    const figure = page.locator('.figure').filter({ hasText: 'This run' });
    // A slow machine may need minutes for this, but not an hour.
    const someSeconds = /^[1-9]\d? (s|min\b.*)$/;
    for (const wrongMs of [-3_600_000, 3_600_000]) {
      await page.clock.setSystemTime(Date.now() + wrongMs);
      await page.reload();
      await duration.getByText(someSeconds).waitFor();
      await figure.getByText(someSeconds).waitFor();
    }
  });
});

describe('an answer that is none', () => {
  test('is told, and asked for again', async () => {
    const { pageAddress, rig } = await serveDashboard();
    await rig.ask('add', { batch: 'small', id: 'first', function: 'echo' });
    const page = await openPage(pageAddress());
    await page.getByRole('link', { name: 'small' }).waitFor();
    const told = page.getByRole('alert').getByText('no JSON');
    await page.route('**/v1/batches?*', (route) => route.fulfill({ body: '<html>' }));
    await page.reload();
    await told.waitFor();
    await page.unroute('**/v1/batches?*');
    await page.getByRole('link', { name: 'small' }).waitFor();
    await page.route('**/v1/executions?*', (route) => route.fulfill({ body: '<html>' }));
    await page.getByRole('link', { name: 'small' }).click();
    await told.waitFor();
    await page.unroute('**/v1/executions?*');
    await page.locator('[data-task="first"]').waitFor();
    await told.waitFor({ state: 'detached' });
  });
});

describe('an answer that is older than the events before it', () => {
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
        .getByText(/\d completed/)
        .first()
        .textContent(),
    ).toContain('1 completed');
    if (path.includes('executions')) await page.locator('[data-task="a"]').getByText('Completed').waitFor();
  });
});

describe('a batch of another process', () => {
  test('is shown as it goes on, to its end, and stopped by a button', async () => {
    const { pageAddress, rig } = await serveDashboard();
    const held = new HeldCalls();
    const other = await openRig([held.tool()], undefined, rig.file);
    const behind = { id: 'd', function: 'echo', depends_on: ['c'] };
    await other.ask('add_batch', { batch: 'theirs', tasks: [...TASKS, behind] });
    await other.ask('start', { batch: 'theirs' });
    await held.started('c');
    const page = await openPage(pageAddress());
    await page.getByRole('link', { name: 'theirs' }).click();
    await page.locator('[data-task="a"]').getByText('Running').waitFor();
    held.finish('a');
    await page.locator('[data-task="a"]').getByText('Completed').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('It stops when the running tasks have finished.').waitFor();
    held.finish('b');
    held.finish('c');
    await page.locator('[data-task="b"]').getByText('Completed').waitFor();
    await page.locator('[data-task="c"]').getByText('Completed').waitFor();
    await page.getByText('Stopped', { exact: true }).waitFor();
    await page.locator('[data-task="d"]').getByText('Waiting').waitFor();
  });
});

describe('the key', () => {
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

    // Also where nothing is followed, only asked for.
    await stranger.getByRole('link', { name: 'Machine' }).click();
    await stranger.getByText('Executions at once').waitFor();
    await stranger.context().clearCookies();
    await stranger.getByRole('alert').getByText('The session has ended.').waitFor();
    await stranger.getByRole('heading', { name: 'Open the address with its key' }).waitFor();
  });

  test('that is malformed is refused like any other', async () => {
    const { pageAddress } = await serveDashboard();
    const page = await openPage(pageAddress().replace(/=.*/, '=100%'));
    await page.getByRole('alert').getByText('This key is unknown').waitFor();
  });

  test('is needed', async () => {
    const { pageAddress } = await serveDashboard();
    const page = await openPage(pageAddress().replace(/#.*/, ''));
    await page.getByRole('heading', { name: 'Open the address with its key' }).waitFor();
  });
});
