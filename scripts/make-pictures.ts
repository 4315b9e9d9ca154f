import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { BatchExecutor } from '../src/batch/executor/batch-executor.ts';
import { defaultConfig } from '../src/config/config.ts';
import { ParallelToolCoordinator } from '../src/coordinator/coordinator.ts';
import type { WorkerDirectory, WorkerStatus } from '../src/coordinator/remote-runner.ts';
import { startServer, type VolleyServer } from '../src/server/server.ts';
import { openStore } from '../src/store/sqlite-store.ts';
import { builtinTools } from '../src/tools/builtin/index.ts';
import { defineTool } from '../src/tools/define-tool.ts';
import type { Tool } from '../src/tools/tool.ts';
import { buildDashboard } from './build-dashboard.ts';

/**
 * Makes the pictures of the dashboard in `docs/images` from the real dashboard with made-up work, which is the same each
 * time. With `--all FOLDER` it writes every page at three widths, light and dark, into that folder instead.
 */
const IMAGES = fileURLToPath(new URL('../docs/images/', import.meta.url));
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const WIDTHS = [1280, 768, 390];

/** What a made-up call does: it takes a while, fails as often as asked, or stays where it is. */
interface Part {
  readonly ms: number;
  /** How many attempts fail, and why. */
  readonly fails?: number;
  readonly error?: string;
  /** How far it comes, and stays until the pictures are made. */
  readonly stays?: readonly [share: number, step: string];
}

/** By the target of the call; others take a moment. */
const PARTS: ReadonlyMap<string, Part> = new Map<string, Part>([
  ['checkout', { ms: 180 }],
  ['dependencies', { ms: 420 }],
  ['types', { ms: 640 }],
  ['lint', { ms: 380 }],
  ['api', { ms: 700 }],
  ['shop', { ms: 900 }],
  ['admin', { ms: 520, fails: 1, error: 'The registry answered 503.' }],
  ['unit', { ms: 800 }],
  ['payment', { ms: 300, fails: 9, error: 'expected 200, got 500 from POST /orders: out of stock' }],
  ['search', { ms: 560 }],
  ['end-to-end', { ms: 200, stays: [0.62, 'checkout as a guest'] }],
  ['load', { ms: 200, stays: [0.35, '350 of 1,000 users'] }],
  ['/cart', { ms: 60, fails: 9, error: 'The page has no title.' }],
  ['/legal', { ms: 200, stays: [0.5, 'reading'] }],
  ['orders-3', { ms: 90, fails: 9, error: 'Line 1,204: the amount is no number.' }],
]);

function demoTool(name: string, description: string): Tool {
  const attempts = new Map<string, number>();
  return defineTool<{ readonly target: string }>({
    name,
    description,
    idempotent: true,
    retry: { maxRetries: 2, delayMs: 120 },
    input: {
      type: 'object',
      properties: {
        target: { type: 'string', description: 'What to work on.' },
        mode: { enum: ['fast', 'thorough'], description: 'How much to look at.', default: 'fast' },
        limit: { type: 'integer', description: 'The maximum number of problems.', default: 20 },
        strict: { type: 'boolean', description: 'Whether warnings count as errors.' },
        headers: {
          type: 'array',
          description: 'Sent with each request.',
          items: {
            type: 'object',
            properties: { name: { type: 'string' }, value: { type: 'string' } },
            required: ['name', 'value'],
          },
        },
      },
      required: ['target'],
    },
    run: async ({ target }, { log, report, signal }) => {
      const { ms, fails = 0, error = '', stays }: Part = PARTS.get(target) ?? { ms: 70 + 13 * target.length };
      const attempt = (attempts.get(target) ?? 0) + 1;
      attempts.set(target, attempt);
      log(`${name} ${target}, attempt ${attempt}`);
      for (let file = 1; file <= 40; file++) log(`read src/${target}/part-${file}.ts (${file * 37} lines)`);
      await sleep(ms, undefined, { signal });
      if (attempt <= fails) {
        log(`error: ${error}`);
        throw new Error(error);
      }
      if (stays === undefined) return { target, problems: 0 };
      report(...stays);
      return sleep(3_600_000, null, { signal });
    },
  }) as Tool;
}

const PAGES = ['/', '/cart', '/search', '/orders', '/help', '/about', '/jobs', '/press', '/blog', '/legal'];

/** A process that works for a third of the time, so that there is something to measure. */
const WORK =
  'const b=Buffer.alloc(6e7,1);setInterval(()=>{const e=Date.now()+300;while(Date.now()<e)b[0]++},900)';

function task(tool: string, target: string, name: string, dependsOn: readonly string[] = []): object {
  return { id: target, name, function: tool, params: { target }, depends_on: dependsOn };
}

const RELEASE = [
  task('fetch', 'checkout', 'Check out the sources'),
  task('fetch', 'dependencies', 'Install dependencies', ['checkout']),
  task('compile', 'types', 'Check the types', ['dependencies']),
  task('compile', 'lint', 'Lint', ['dependencies']),
  task('compile', 'api', 'Build the API', ['dependencies']),
  task('compile', 'shop', 'Build the shop', ['dependencies']),
  task('compile', 'admin', 'Build the admin pages', ['dependencies']),
  task('run_tests', 'unit', 'Unit tests', ['types', 'api']),
  task('run_tests', 'payment', 'Tests of payments', ['api']),
  task('run_tests', 'search', 'Tests of the search', ['api', 'shop']),
  task('run_tests', 'end-to-end', 'End-to-end tests', ['shop', 'admin']),
  task('run_tests', 'load', 'Load test', ['search']),
  {
    id: 'pages',
    name: 'Check each page',
    function: 'inspect',
    params: { target: '${item}' },
    for_each: PAGES,
    on_item_error: 'null',
    depends_on: ['shop'],
  },
  {
    id: 'images',
    name: 'Compress images',
    function: 'shell',
    params: { command: `node -e '${WORK}'` },
    depends_on: ['checkout'],
  },
  task('publish', 'sign', 'Sign the packages', ['unit', 'payment', 'end-to-end']),
  task('publish', 'upload', 'Upload', ['sign', 'load', 'pages']),
  task('publish', 'announce', 'Announce the release', ['upload']),
];

const IMPORT = Array.from({ length: 12 }, (_, place) =>
  task('inspect', `orders-${place}`, `Orders of day ${place + 1}`),
);
const THUMBNAILS = Array.from({ length: 40 }, (_, place) =>
  task('compile', `thumb-${place}`, `Thumbnail ${place + 1}`),
);
const DOCS = ['guide', 'reference', 'changes'].map((part) => task('compile', part, `Write the ${part}`));

/** Delivers what its subtask asks for, except 03, which fails, and 04, which goes on. */
const AGENT = `cat > /dev/null
echo "Reading the task of subtask $VOLLEY_SUBTASK."
echo "Looking at src/session.ts and its tests."
case $VOLLEY_SUBTASK in
03) echo "npm test: 2 of 14 tests failed" >&2; exit 1;;
04) while :; do echo "Running the tests."; sleep 5; done;;
*) mkdir -p src; printf 'export const SESSION_DAYS = 7;\\n' > "src/part-$VOLLEY_SUBTASK.ts"; echo "Done.";;
esac`;

const FEATURE = {
  id: 'sign-in',
  name: 'Sign in',
  objective: 'People sign in with a password and stay signed in for a week.',
};
const SUBTASKS = [
  {
    title: 'Set up the session store',
    description: 'Keep sessions in SQLite.',
    acceptance_criteria: ['Sessions survive a restart', 'An expired session is refused'],
    verification: [{ type: 'file_contains', path: 'src/part-01.ts', text: 'export' }],
  },
  { title: 'Sign-in form', depends_on: ['01'] },
  { title: 'Rate limit for wrong passwords' },
  { title: 'Audit log of sign-ins' },
  { title: 'Password reset by email', status: 'blocked', blocked_reason: 'No mail server yet' },
  { title: 'Remove the old login', depends_on: ['02', '03'] },
];

/** A repository with one feature in it. */
function writeFeature(folder: string): void {
  const tasks = join(folder, '.tmp/tasks', FEATURE.id);
  mkdirSync(tasks, { recursive: true });
  const write = (file: string, content: object) =>
    writeFileSync(join(tasks, file), JSON.stringify(content, null, 2));
  write('task.json', FEATURE);
  for (const [place, subtask] of SUBTASKS.entries()) {
    const seq = `0${place + 1}`;
    write(`subtask_${seq}.json`, { parallel: true, deliverables: [`src/part-${seq}.ts`], ...subtask });
  }
  writeFileSync(join(folder, '.gitignore'), '.volley\n.tmp\n*.db*\n');
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=Demo', '-c', 'user.email=demo@localhost', ...args], {
      cwd: folder,
    });
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'Start');
}

const WORKERS: readonly WorkerStatus[] = (['ready', 'ready', 'draining', 'lost'] as const).map(
  (state, place) => ({
    name: `build-${place + 1}`,
    state,
    host: `build-${place + 1}.example.com`,
    pid: 4100 + 7 * place,
    version: '0.1.0',
    labels: place === 1 ? { gpu: true, zone: 'north' } : { zone: 'north' },
    agents: { names: [], repositories: [] },
    tools: 12,
    lastHeardMs: state === 'lost' ? 42_000 : 300,
    use: [
      { name: 'memoryMb', used: 6000 - 1700 * place, limit: 8000 },
      { name: 'cpu', used: 4 - place, limit: 8 },
    ],
    spare: 4,
    calls: ['unit', 'end-to-end', 'load']
      .slice(place)
      .map((id) => ({ id: `release-2.4#1/${id}`, toolName: 'run_tests' })),
    ended: { completed: 412 - 90 * place, failed: place, cancelled: 0 },
  }),
);

/** A server with batches of all kinds, a feature and a cluster, as `volley serve` has it. */
async function serveDemo(folder: string): Promise<{ server: VolleyServer; close: () => Promise<void> }> {
  const defaults = defaultConfig(folder);
  const config = {
    ...defaults,
    server: { ...defaults.server, port: 0 },
    shell: { ...defaults.shell, enabled: true },
    tasks: {
      ...defaults.tasks,
      agent: 'coder',
      review: true,
      worktrees: true,
      maxRetries: 0,
      agents: { coder: { command: ['/bin/sh', '-c', AGENT], env: {} } },
    },
  };
  const coordinator = new ParallelToolCoordinator({ config });
  coordinator.register(builtinTools());
  coordinator.register(
    demoTool('fetch', 'Fetches sources and packages.'),
    demoTool('compile', 'Builds one part of the project.'),
    demoTool('run_tests', 'Runs a set of tests.'),
    demoTool('inspect', 'Looks at one page or file.'),
    demoTool('publish', 'Sends something to the public.'),
  );
  const store = await openStore(join(folder, 'volley.db'));
  const executor = new BatchExecutor({ coordinator, store });
  const workers: WorkerDirectory = { list: () => [...WORKERS], drain: async () => true };
  writeFeature(folder);
  const server = await startServer({
    config,
    coordinator,
    store,
    executor,
    log: () => undefined,
    version: 'demo',
    webFolder: await buildDashboard(),
    workers,
  });
  const ask = async (action: string, args: object) => {
    const answer = await executor.handle({ action, ...args });
    if (!answer.ok) throw new Error(answer.text);
  };
  for (const [batch, tasks] of Object.entries({ thumbnails: THUMBNAILS, 'nightly-import': IMPORT })) {
    await ask('add_batch', { batch, tasks });
    await ask('start', { batch, max_concurrent: 6, wait: true });
  }
  await ask('add_batch', { batch: 'documentation', tasks: DOCS });
  await ask('add_batch', { batch: 'release-2.4', tasks: RELEASE });
  await ask('start', { batch: 'release-2.4', max_concurrent: 8 });
  while ((await executor.view('release-2.4'))!.counts.completed < SETTLED) await sleep(50);
  await runAgents(server);
  return {
    server,
    close: async () => {
      await server.close({ graceMs: 0 });
      await coordinator.close();
      await store.close();
    },
  };
}

/** Starts agents, and waits until each has come as far as it can. */
async function runAgents({ address, recordFile }: VolleyServer): Promise<void> {
  const { token } = JSON.parse(readFileSync(recordFile, 'utf8')) as { token: string };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const feature = `${address}/v1/features/${FEATURE.id}`;
  const body = JSON.stringify({ subtasks: ['01', '03', '04'] });
  const answer = await fetch(`${feature}/run`, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(await answer.text());
  const states = async () => {
    const board = (await (await fetch(`${feature}/board`, { headers })).json()) as {
      subtasks: readonly { state: string }[];
    };
    return board.subtasks.map(({ state }) => state).join(' ');
  };
  while ((await states()) !== 'review waiting failed running blocked waiting') await sleep(100);
}

/** How many tasks of the release have completed when nothing more can. */
const SETTLED = 17;

/** The pictures that the documents show. */
const IN_DOCS: Readonly<Record<string, string>> = {
  panel: 'dashboard.png',
  graph: 'dashboard-graph.png',
  'timeline-zoomed': 'dashboard-timeline.png',
};

type Shot = readonly [name: string, open: (page: Page) => Promise<void>];

const BATCH = '#/batch/release-2.4';

/** Every page, in the state in which it says most. */
const SHOTS: readonly Shot[] = [
  ['batches', (page) => visit(page, '#/', 'nightly-import')],
  [
    'batches-selected',
    async (page) => {
      await visit(page, '#/?sort=-failed', 'nightly-import');
      await page.getByLabel('Select nightly-import').check();
      await page.getByLabel('Select documentation').check();
      await page.getByRole('button', { name: 'Retry' }).click();
      await page.getByRole('dialog').waitFor();
    },
  ],
  ['executions', (page) => visit(page, `${BATCH}/executions`, 'Tests of payments')],
  ['search', (page) => visit(page, `${BATCH}/executions?q=out+of+stock`, 'Tests of payments')],
  [
    'panel',
    async (page) => {
      await visit(page, `${BATCH}/executions?task=payment&open=pages`, 'Tests of payments');
      await page.getByRole('heading', { name: 'Error' }).waitFor();
    },
  ],
  ['graph', (page) => visitDrawing(page, `${BATCH}/graph`)],
  ['graph-small', (page) => visitDrawing(page, `${BATCH}/graph?graph=700,240,0.3`)],
  ['graph-failed', (page) => visitDrawing(page, `${BATCH}/graph?task=payment`, 'e')],
  ['timeline', (page) => visitDrawing(page, `${BATCH}/timeline`, 'ArrowRight')],
  ['timeline-zoomed', (page) => visitDrawing(page, `${BATCH}/timeline?time=600,2200`)],
  ['log', (page) => visit(page, `${BATCH}/executions?task=payment&view=log`, 'error: expected 200')],
  ['features', (page) => visit(page, '#/features', 'Sign in')],
  ['board', (page) => visit(page, '#/features?feature=sign-in', 'Audit log of sign-ins')],
  ['subtask', (page) => visit(page, '#/features?feature=sign-in&task=01', 'Waits for review')],
  ['subtask-failed', (page) => visit(page, '#/features?feature=sign-in&task=03', 'Deliverables')],
  [
    'subtask-log',
    (page) => visit(page, '#/features?feature=sign-in&task=01&view=log', 'Reading the task of'),
  ],
  ['subtask-diff', (page) => visit(page, '#/features?feature=sign-in&task=01&view=diff', 'SESSION_DAYS')],
  ['workers', (page) => visit(page, '#/workers', 'build-1')],
  ['machine', (page) => visit(page, '#/machine', ' measured')],
  [
    'add',
    async (page) => {
      await visit(page, '#/', 'nightly-import');
      await page.keyboard.press('n');
      await page.getByLabel('Function').selectOption('inspect');
      await page.getByRole('button', { name: 'Add to headers' }).click();
      await page.getByLabel('limit number').fill('many');
      await page.getByRole('button', { name: 'Add and start' }).click();
      await page.getByText('must be of type integer').first().waitFor();
    },
  ],
  [
    'help',
    async (page) => {
      await visit(page, '#/', 'nightly-import');
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
    },
  ],
];

async function visit(page: Page, hash: string, text: string): Promise<void> {
  // A dialog of the page before would stay.
  await page.goto('about:blank');
  await page.goto(`${address}/${hash}`);
  await page.getByText(text).first().waitFor();
}

async function visitDrawing(page: Page, hash: string, key?: string): Promise<void> {
  await visit(page, hash, 'Completed');
  await page.getByText('Laying out the graph').waitFor({ state: 'detached' });
  await page.getByRole('application').focus();
  await sleep(400);
  if (key !== undefined) await page.keyboard.press(key);
  // A drawing has no text to wait for; it is drawn anew within this time.
  await sleep(600);
}

let address = '';

async function shoot(
  browser: Browser,
  server: VolleyServer,
  { width, height, colorScheme }: { width: number; height: number; colorScheme: 'light' | 'dark' },
  shots: readonly Shot[],
  fileOf: (shot: string) => string,
): Promise<void> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    hasTouch: width < 600,
    deviceScaleFactor: 1,
  });
  const page = await context.newPage();
  await page.goto(server.pageAddress());
  await page.getByRole('heading', { name: 'Batches' }).waitFor();
  for (const [name, open] of shots) {
    await open(page);
    await page.screenshot({ path: fileOf(name) });
  }
  await context.close();
}

const at = process.argv.indexOf('--all');
const target = at < 0 ? undefined : process.argv[at + 1];
const root = await mkdtemp(join(tmpdir(), 'volley-pictures-'));
const folder = join(root, 'web-shop');
mkdirSync(folder);
const { server, close } = await serveDemo(folder);
address = server.address;
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
try {
  if (target === undefined) {
    const wanted = SHOTS.filter(([name]) => name in IN_DOCS);
    await shoot(browser, server, { width: 1440, height: 860, colorScheme: 'light' }, wanted, (name) =>
      join(IMAGES, IN_DOCS[name]!),
    );
  } else {
    mkdirSync(target, { recursive: true });
    for (const width of WIDTHS)
      for (const colorScheme of ['light', 'dark'] as const)
        await shoot(browser, server, { width, height: width < 600 ? 844 : 860, colorScheme }, SHOTS, (name) =>
          join(target, `${name}-${width}-${colorScheme}.png`),
        );
  }
} finally {
  await browser.close();
  await close();
  await rm(root, { recursive: true });
}
