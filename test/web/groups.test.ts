import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { HeldCalls } from '../batch/support/rig.ts';
import { openPage, picture, useBrowser } from './support/browser.ts';
import { serveDashboard } from './support/dashboard.ts';

useBrowser();

const SLOW = { timeout: 300_000 };

/** A batch in which a group of 50 is at its 38th item: 36 completed, one failed, one runs, and what waits for it. */
async function serveGroup() {
  const held = new HeldCalls();
  const dashboard = await serveDashboard(held.tool());
  const keys = Array.from({ length: 50 }, (_, index) => `k${index}`);
  await dashboard.rig.ask('add_batch', {
    batch: 'notes',
    tasks: [
      { id: 'first', function: 'echo' },
      {
        id: 'read',
        name: 'Read each note',
        function: 'held',
        params: { key: '${item}' },
        for_each: keys,
        max_concurrent: 1,
        depends_on: ['first'],
      },
      { id: 'sum', function: 'compute', params: { expression: 'read.length' } },
    ],
  });
  await dashboard.rig.ask('start', { batch: 'notes' });
  for (const [index, key] of keys.slice(0, 38).entries()) {
    await held.started(key);
    if (index === 7) held.fail(key, 'the note is locked');
    else if (index < 37) held.finish(key);
  }
  return dashboard;
}

async function openBatch(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'notes', exact: true }).click();
  await page.locator('[data-task="read"]').getByText('37 of 50').waitFor();
}

async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
  return page.evaluate(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 160))))`,
  );
}

test(
  'a group is one row with a count, which a click opens, and whose panel shows what failed first',
  SLOW,
  async () => {
    const { pageAddress } = await serveGroup();
    const page = await openPage(pageAddress());
    await openBatch(page);
    await page.getByText('3 shown, 50 more in groups').waitFor();
    expect(await page.locator('[data-task="read[0]"]').count()).toBe(0);
    await page.getByRole('button', { name: 'Open Read each note' }).click();
    await page.locator('[data-task="read[7]"]').getByText('the note is locked').waitFor();
    expect(await page.getByRole('row', { expanded: true }).count()).toBe(1);
    expect(await violations(page)).toEqual([]);
    await picture(page, 'group-open');
    await page.locator('[data-task="read"]').click();
    const panel = page.getByRole('complementary');
    await panel.getByText('37 of 50').waitFor();
    await panel.getByRole('heading', { name: 'For each' }).waitFor();
    const [first] = await panel.locator('.task-links .link').allTextContents();
    expect(first).toContain('read[7]');
    expect(await violations(page)).toEqual([]);
    await picture(page, 'group-panel');
    await panel.getByRole('button', { name: 'read[7]' }).click();
    await panel.getByRole('heading', { name: 'Part of the group' }).waitFor();
    await panel.getByRole('button', { name: 'Read each note' }).click();
    await panel.getByRole('heading', { name: 'Items' }).waitFor();
  },
);

test('a group is opened and closed by keys, and searches find items in closed ones', SLOW, async () => {
  const { pageAddress } = await serveGroup();
  const page = await openPage(pageAddress());
  await openBatch(page);
  await page.getByRole('treegrid').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  const item = page.locator('[data-task="read[0]"]');
  await item.waitFor();
  // Into the group, back to it, and closed.
  await page.keyboard.press('ArrowRight');
  await page.locator('.is-marked[data-task="read[0]"]').waitFor();
  await page.keyboard.press('ArrowLeft');
  await page.locator('.is-marked[data-task="read"]').waitFor();
  await page.keyboard.press('ArrowLeft');
  await item.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^Failed/ }).click();
  await page.locator('[data-task="read[7]"]').waitFor();
  await page.getByText('1 of 53 shown').waitFor();
  await page.getByRole('button', { name: /^Failed/ }).click();
  await page.keyboard.press('/');
  await page.keyboard.type('[12');
  await page.locator('[data-task="read[12]"]').waitFor();
});

test(
  'a group is one node of the graph, which a key opens, and stands above its items on the timeline',
  SLOW,
  async () => {
    const { pageAddress } = await serveGroup();
    const page = await openPage(pageAddress());
    await openBatch(page);
    await page.getByRole('button', { name: 'Graph' }).click();
    const graph = page.getByRole('application', { name: 'Graph of 3 executions' });
    await graph.focus();
    await page.keyboard.press('ArrowDown');
    await page.getByText('first: completed').waitFor({ state: 'attached' });
    await page.keyboard.press('ArrowRight');
    await page
      .getByText('37 of 50, 1 running, 1 failed. Space opens the group.')
      .waitFor({ state: 'attached' });
    await page.keyboard.press('Space');
    await page.getByRole('application', { name: 'Graph of 43 executions' }).waitFor();
    await picture(page, 'group-graph');
    await page.getByRole('button', { name: 'Timeline' }).click();
    await page.getByRole('application', { name: 'Timeline of 40 tries' }).waitFor();
    await picture(page, 'group-timeline');
  },
);

test('an open group of thousands has only those rows that are in sight', SLOW, async () => {
  const { pageAddress, rig } = await serveDashboard();
  const count = 3000;
  await rig.ask('add_batch', {
    batch: 'many',
    tasks: [{ id: 'each', function: 'echo', for_each: Array.from({ length: count }, (_, index) => index) }],
  });
  await rig.ask('start', { batch: 'many', wait: true });
  const page = await openPage(pageAddress());
  await page.getByRole('link', { name: 'many', exact: true }).click();
  await page.locator('[data-task="each"]').getByText('3,000 items').waitFor();
  await page.getByRole('button', { name: 'Open each' }).click();
  await page.locator('[data-task="each[0]"]').waitFor();
  expect(await page.locator('.grid-row').count()).toBeLessThan(60);
  await page.getByRole('treegrid').focus();
  await page.keyboard.press('End');
  await page.locator('[data-task="each[2999]"]').waitFor();
});
