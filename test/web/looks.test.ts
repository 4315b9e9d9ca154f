import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { HeldCalls } from '../batch/support/rig.ts';
import { isDeep } from '../support/depth.ts';
import { openPage, picture, useBrowser, violations } from './support/browser.ts';
import { serveDashboard } from './support/dashboard.ts';

useBrowser();

const COUNT = 120;

/** A batch with all kinds of states: what completed, failed with retries, was skipped, runs and waits. */
async function serveMixed() {
  const held = new HeldCalls();
  let tries = 0;
  const shaky = defineTool({
    name: 'shaky',
    idempotent: true,
    run: () => {
      if (++tries % 3 !== 0) throw new Error('the connection was reset by the other side');
      return { ok: true };
    },
  }) as Tool;
  const dashboard = await serveDashboard(held.tool(), shaky);
  const tasks = Array.from({ length: COUNT }, (_, place) => {
    const common = { id: `task-${place}`, name: `Step ${place} of the import`, params: {} };
    const depends_on = place < 12 ? [] : [`task-${place - 12}`, `task-${Math.floor(place / 2)}`];
    if (place === 5) return { ...common, function: 'broken', depends_on };
    if (place % 10 === 7) return { ...common, function: 'shaky', max_retries: 3, depends_on };
    if (place % 10 === 4) return { ...common, function: 'held', params: { key: `k${place}` }, depends_on };
    return { ...common, function: 'echo', depends_on };
  });
  await dashboard.rig.ask('add_batch', { batch: 'import', tasks });
  await dashboard.rig.ask('add_batch', {
    batch: 'nightly',
    tasks: [{ function: 'echo' }, { function: 'broken' }],
  });
  await dashboard.rig.ask('start', { batch: 'nightly', wait: true });
  await dashboard.rig.ask('start', { batch: 'import', max_concurrent: 8 });
  await held.started('k4');
  return dashboard;
}

/** Goes through all views, has each checked and keeps a picture of it. */
async function walk(page: Page, name: string): Promise<void> {
  const look = async (view: string) => {
    await picture(page, `${name}-${view}`);
    expect(await violations(page), view).toEqual([]);
    const overflow = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    expect(overflow, `${view} is broader than the screen`).toBeLessThanOrEqual(0);
  };
  await page.getByRole('link', { name: 'import', exact: true }).waitFor();
  await look('batches');
  await page.getByRole('link', { name: 'import', exact: true }).click();
  await page.locator('[data-task="task-5"]').getByText('Failed').waitFor();
  await look('executions');
  await page.locator('[data-task="task-5"]').click();
  await page.getByRole('heading', { name: 'Error' }).waitFor();
  await look('panel');
  await page.getByRole('button', { name: 'Close the panel' }).click();
  await page.getByRole('button', { name: 'Graph' }).click();
  await page.getByText('Laying out the graph').waitFor({ state: 'detached' });
  await look('graph');
  await page.getByRole('button', { name: 'Timeline' }).click();
  await page.getByText('Critical path').waitFor();
  await look('timeline');
  await page.getByRole('link', { name: 'Machine' }).click();
  await page.getByText('Executions at once').waitFor();
  // A blank keeps apart what is read out.
  expect(await page.getByRole('figure').first().textContent()).toMatch(/of [\d,]+ <?\d+%/);
  await look('machine');
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Keyboard' }).waitFor();
  await look('help');
  await page.keyboard.press('Escape');
  await page.keyboard.press('n');
  await page.getByRole('dialog').getByLabel('Function').selectOption('read_file');
  await look('add');
}

/** The numbers that the address has under a name; none while what is shown was not chosen. */
function numbersIn(page: Page, name: string): number[] {
  const query = new URLSearchParams(new URL(page.url()).hash.split('?')[1]);
  return query.get(name)?.split(',').map(Number) ?? [];
}

/** Presses the mouse at one place of an element, given in shares of its size, and moves it to another. */
async function drag(
  page: Page,
  selector: string,
  from: readonly [number, number],
  to: readonly [number, number],
) {
  const { x, y, width, height } = (await page.locator(selector).boundingBox())!;
  const moveTo = ([across, down]: readonly [number, number]) =>
    page.mouse.move(x + across * width, y + down * height, { steps: 4 });
  await moveTo(from);
  await page.mouse.down();
  await moveTo(to);
}

/** A press on the minimap brings that place to the middle, and a drag goes on from there. */
async function moveByMinimap(page: Page): Promise<void> {
  const middle = () => numbersIn(page, 'graph');
  // The address follows a moment later: first the zoom in the middle of the graph, then the press.
  await expect.poll(middle).toHaveLength(3);
  const [before] = middle();
  await drag(page, '.minimap', [0.2, 0.5], [0.2, 0.5]);
  await expect.poll(() => middle()[0]).toBeLessThan(before! * 0.75);
  const [left, height, scale] = middle();
  const { x, y, width } = (await page.locator('.minimap').boundingBox())!;
  await page.mouse.move(x + 0.7 * width, y + 10);
  await expect.poll(() => middle()[0]).toBeGreaterThan(left! * 2);
  expect(middle()[1]).toBeLessThan(height!);
  expect(middle()[2]).toBe(scale);
  await page.mouse.up();
  const [right] = middle();
  await page.mouse.move(x + 0.1 * width, y + 10);
  await picture(page, 'graph-300-minimap');
  expect(middle()[0]).toBe(right);
  expect(page.url()).not.toContain('task=');
}

/** A drag over the timeline shows what it went over, in the whole width. */
async function zoomByDrag(page: Page): Promise<void> {
  const frame = '.is-timeline';
  const shown = () => numbersIn(page, 'time');
  // Not the beginning: the first try, which is marked, takes longer on a busy machine.
  await drag(page, frame, [0.9, 0.5], [0.4, 0.6]);
  await page.locator('.drawing-range').waitFor();
  await picture(page, 'timeline-range');
  await page.mouse.up();
  await page.locator('.drawing-range').waitFor({ state: 'detached' });
  await expect.poll(shown).toHaveLength(2);
  const [from, to] = shown() as [number, number];
  await drag(page, frame, [0.25, 0.5], [0.75, 0.5]);
  await page.mouse.up();
  await expect.poll(() => shown()[0]).toBeGreaterThan(from);
  await picture(page, 'timeline-range-shown');
  // What is marked is out of sight, and so is what is said of it.
  await page.mouse.move(0, 0);
  await page.locator('.tip').waitFor({ state: 'detached' });
  const tolerance = (to - from) * 0.02;
  expect(Math.abs(shown()[0]! - (from + (to - from) * 0.25))).toBeLessThan(tolerance);
  expect(Math.abs(shown()[1]! - (from + (to - from) * 0.75))).toBeLessThan(tolerance);
  expect(page.url()).not.toContain('task=');
  await page.getByRole('button', { name: 'Show all' }).click();
  await expect.poll(shown).toEqual([]);
}

describe('the pages', { timeout: 300_000 }, () => {
  const narrow = { viewport: { width: 320, height: 640 }, hasTouch: true };
  const looks = [
    ['light', { colorScheme: 'light' }],
    ['narrow and dark', { colorScheme: 'dark', ...narrow }],
  ] as const;
  const moreLooks = [
    ['dark', { colorScheme: 'dark' }],
    ['narrow', { colorScheme: 'light', ...narrow }],
  ] as const;
  test.each(isDeep ? [...looks, ...moreLooks] : looks)(
    'have nothing against accessibility and fit the screen: %s',
    async (name, options) => {
      const { pageAddress } = await serveMixed();
      const page = await openPage(pageAddress(), options);
      await walk(page, name);
    },
  );

  test('draw a graph of 300 executions, first so that it can be read, whole when asked for, and move it by its minimap', async () => {
    const { pageAddress, rig } = await serveDashboard();
    const tasks = Array.from({ length: 300 }, (_, place) => ({
      id: `node-${place}`,
      name: `Part ${place}`,
      function: place === 77 ? 'broken' : 'echo',
      depends_on: place < 20 ? [] : [`node-${place - 20}`, `node-${Math.floor(place / 3)}`],
    }));
    await rig.ask('add_batch', { batch: 'graph', tasks });
    await rig.ask('start', { batch: 'graph', wait: true });
    const page = await openPage(pageAddress());
    await page.getByRole('link', { name: 'graph', exact: true }).click();
    await page.getByRole('button', { name: 'Graph' }).click();
    await page.getByText('Laying out the graph').waitFor({ state: 'detached' });
    await page.getByRole('application', { name: 'Graph of 300 executions' }).waitFor();
    await picture(page, 'graph-300');
    await page.getByRole('button', { name: 'Show all' }).click();
    await picture(page, 'graph-300-all');
    await page.locator('.minimap').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await moveByMinimap(page);
  });

  test('connect the tries of many executions only where one is asked for, and zoom by a drag', async () => {
    const seen = new Set<string>();
    const second = defineTool<{ key: string }>({
      name: 'second',
      idempotent: true,
      // Long enough to zoom into.
      retry: { maxRetries: 1, delayMs: 500 },
      run: ({ key }) => {
        if (!seen.has(key)) {
          seen.add(key);
          throw new Error('not the first time');
        }
      },
    }) as Tool;
    const { pageAddress, rig } = await serveDashboard(second);
    const tasks = Array.from({ length: 40 }, (_, place) => ({
      function: 'second',
      params: { key: `${place}` },
    }));
    await rig.ask('add_batch', { batch: 'shaky', tasks });
    await rig.ask('start', { batch: 'shaky', wait: true });
    const page = await openPage(pageAddress());
    // Lines between tries are the only dotted ones, and each drawing begins with a clip.
    await page.evaluate(`{
      window.lines = 0;
      const { clip, setLineDash } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.clip = function () {
        window.lines = 0;
        return clip.call(this);
      };
      CanvasRenderingContext2D.prototype.setLineDash = function (dash) {
        if (dash.length > 0) window.lines++;
        return setLineDash.call(this, dash);
      };
    }`);
    await page.getByRole('link', { name: 'shaky' }).click();
    await page.getByRole('button', { name: 'Timeline' }).click();
    await page.getByRole('application', { name: 'Timeline of 80 tries' }).focus();
    expect(await page.evaluate('window.lines')).toBe(0);
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => page.evaluate('window.lines')).toBe(1);
    await zoomByDrag(page);
  });

  test('change their colours by a switch, and keep them', async () => {
    const { pageAddress } = await serveDashboard();
    const page = await openPage(pageAddress(), { colorScheme: 'dark' });
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const dark = await ground();
    await page.getByRole('button', { name: 'Colours: as the system' }).click();
    await expect.poll(ground).not.toBe(dark);
    const light = await ground();
    await page.reload();
    await page.getByRole('button', { name: 'Colours: light' }).waitFor();
    await expect.poll(ground).toBe(light);
    await page.keyboard.press('t');
    await expect.poll(ground).toBe(dark);
  });

  test('keep rows where they are, names apart, and paper white', async () => {
    const { pageAddress, rig } = await serveDashboard();
    const turned = { id: 'id-of-it', name: 'report \u202Efdp.exe', function: 'echo' };
    await rig.ask('add_batch', {
      batch: 'paper',
      tasks: [turned, { id: 'b', function: 'broken' }, { id: 'c', function: 'echo', depends_on: ['b'] }],
    });
    await rig.ask('start', { batch: 'paper', wait: true });
    const page = await openPage(pageAddress(), {
      colorScheme: 'dark',
      viewport: { width: 1024, height: 700 },
    });
    await page.getByRole('link', { name: 'paper' }).click();
    const row = page.locator('[data-task="id-of-it"]');
    await row.waitFor();
    const [name, id] = [
      await row.locator('.row-name').boundingBox(),
      await row.locator('.row-id').boundingBox(),
    ];
    expect(id!.x).toBeGreaterThanOrEqual(name!.x + name!.width);
    const before = await row.boundingBox();
    await row.click();
    await page.getByRole('complementary').waitFor();
    expect((await row.boundingBox())!.y).toBe(before!.y);

    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await page.evaluate('getComputedStyle(document.body).color')).toBe('rgb(26, 33, 48)');
    expect(await page.getByRole('button', { name: 'More' }).isVisible()).toBe(false);
    expect(await page.getByText('New tasks').first().isVisible()).toBe(false);
  });

  test('can be used by keys alone', async () => {
    const { pageAddress } = await serveMixed();
    const page = await openPage(pageAddress());
    await page.getByRole('link', { name: 'import', exact: true }).waitFor();
    const focused = (selector: string) => page.locator(`${selector}:focus`).waitFor();
    for (let presses = 0; presses < 40; presses++) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(`document.activeElement.textContent === 'import'`)) break;
    }
    await page.keyboard.press('Enter');
    await page.locator('[data-task="task-5"]').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('task-1');
    await page.getByText(/^\d+ of 120 shown$/).waitFor();
    await page.keyboard.press('Tab');
    await page.getByRole('treegrid').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Step 10 of the import' }).waitFor();
    await page.keyboard.press('Escape');
    await focused('[role=treegrid]');
    // What was clicked leaves the sight, and the focus must not go with it.
    await page.locator('[data-task="task-1"]').click();
    await page.getByRole('heading', { name: 'Step 1 of the import' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('End');
    await page.locator('[data-task="task-1"]').waitFor({ state: 'detached' });
    await focused('[role=treegrid]');
    await page.getByRole('button', { name: 'Attempts', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.locator('[aria-sort=ascending]').getByText('Attempts').waitFor();
    expect(await page.getByRole('complementary').count()).toBe(0);
    // Two keys in one frame: the second must know what the first has done.
    await page.getByRole('treegrid').focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('2');
    await page.getByRole('application').focus();
    expect(await page.getByRole('complementary').count()).toBe(0);
    await page.getByText('Laying out the graph').waitFor({ state: 'detached' });
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary').waitFor();
    expect(page.url()).toContain('task=');
  });
});
