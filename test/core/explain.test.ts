import { describe, expect, it } from 'vitest';
import { explain } from '../../src/core/explain.ts';
import { Explanations } from './support/explanations.ts';
import { World } from './support/world.ts';

/** The texts of all explanations; the last test compares them with a golden file. */
const explanations = new Explanations();
const explained = explanations.of.bind(explanations);

describe('an execution that waits for dependencies', () => {
  it('names those that are open, with their status', () => {
    const world = new World({ limits: { concurrency: 2 } });
    const done = world.submit({ id: 'done' });
    world.succeed(done);
    world.submit({ id: 'fetch-a' });
    world.submit({ id: 'other' });
    world.submit({ id: 'fetch-b' });
    const merge = world.submit({ id: 'merge', toolName: 'merge', dependsOn: ['done', 'fetch-a', 'fetch-b'] });
    expect(explained(world, merge)).toMatchObject({
      id: 'merge',
      toolName: 'merge',
      status: 'pending',
      reason: 'dependencies',
      open: 2,
      total: 3,
      waitsFor: [
        { id: 'fetch-a', status: 'running' },
        { id: 'fetch-b', status: 'queued' },
      ],
    });
  });

  it('lists ten of many and says how many there are', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const ids = Array.from({ length: 25 }, (_, index) => `part-${index}`);
    for (const id of ids) world.submit({ id });
    const explanation = explained(world, world.submit({ dependsOn: ids }));
    if (explanation.reason !== 'dependencies') throw new Error(`unexpected ${explanation.reason}`);
    expect(explanation.waitsFor).toHaveLength(10);
    expect(explanation.open).toBe(25);
    expect(explanation.text).toContain(' more');
  });

  it('speaks of a single dependency in the singular', () => {
    const world = new World();
    world.submit({ id: 'a' });
    const explanation = explained(world, world.submit({ dependsOn: ['a'] }));
    expect(explanation).toMatchObject({ reason: 'dependencies', open: 1, total: 1 });
  });
});

describe('a running execution', () => {
  it('tells since when it runs and what limits it', () => {
    const world = new World();
    const execution = world.submit({
      timeoutMs: 30_000,
      stallMs: 5000,
      deadlineMs: 60_000,
      retry: { maxRetries: 3 },
    });
    world.advance(2000);
    world.progress(execution);
    world.advance(1200);
    expect(explained(world, execution)).toMatchObject({
      status: 'running',
      reason: 'running',
      attempt: 1,
      runningForMs: 3200,
      hasLentRoom: false,
      timeoutInMs: 26_800,
      stallInMs: 3800,
      deadlineInMs: 56_800,
    });
  });

  it('tells of no limit any more when it keeps its result, and never of a time that has passed', () => {
    const world = new World();
    world.advance(500);
    const execution = world.submit({ timeoutMs: 300, stallMs: 200, deadlineMs: 400 });
    const late = explanations.note(explain(world.scheduler, execution, world.now + 350));
    expect(late.text).toContain('timeout in 0 ms');
    world.keeping(execution);
    expect(explanations.note(explain(world.scheduler, execution, world.now + 350))).toMatchObject({
      runningForMs: 350,
      timeoutInMs: undefined,
      stallInMs: undefined,
      deadlineInMs: undefined,
    });
  });

  it('tells that others use its room while it waits for its children', () => {
    const world = new World();
    const parent = world.submit({ timeoutMs: Number.POSITIVE_INFINITY });
    world.lend(parent);
    world.advance(850);
    expect(explained(world, parent)).toMatchObject({
      reason: 'running',
      hasLentRoom: true,
      timeoutInMs: undefined,
    });
  });
});

describe('an execution between two attempts', () => {
  it('tells when it tries again, how often it may, and why the last attempt failed', () => {
    const world = new World();
    const execution = world.submit({ retry: { maxRetries: 2, delayMs: 1500, jitter: 0 } });
    const failure = { reason: 'error', error: new Error('no route to host') } as const;
    world.fail(execution, failure);
    expect(explanations.note(explain(world.scheduler, execution, world.now, failure))).toMatchObject({
      status: 'retrying',
      reason: 'retry-pause',
      retryInMs: 1500,
      attemptsLeft: 2,
      lastFailure: failure,
    });
  });

  it('says when it is the last time', () => {
    const world = new World();
    world.advance(1000);
    const execution = world.submit({ retry: { maxRetries: 1, delayMs: 300, jitter: 0 } });
    world.fail(execution);
    world.advance(100);
    expect(explained(world, execution)).toMatchObject({ reason: 'retry-pause' });
  });

  it('waits for a stopped attempt to be gone', () => {
    const world = new World();
    const execution = world.submit({ timeoutMs: 100, retry: { maxRetries: 1, delayMs: 0 } });
    world.advance(110);
    expect(explained(world, execution)).toMatchObject({
      reason: 'retry-pause',
      retryInMs: 0,
      isStillStopping: true,
    });
  });
});

describe('a settled execution', () => {
  it('tells that it completed, and after how many attempts', () => {
    const world = new World();
    const execution = world.submit({ retry: { maxRetries: 1, delayMs: 0, jitter: 0 } });
    world.fail(execution);
    world.advance(1);
    world.succeed(execution);
    world.advance(65_000);
    expect(explained(world, execution)).toMatchObject({
      status: 'completed',
      reason: 'completed',
      attempts: 2,
      agoMs: 65_000,
    });
  });

  it('tells why it failed', () => {
    const world = new World();
    const execution = world.submit({});
    world.fail(execution, { reason: 'error', error: new Error('boom') });
    expect(explained(world, execution)).toMatchObject({
      status: 'failed',
      reason: 'failed',
      failure: 'error',
      attempts: 1,
    });
  });

  it('tells why it was cancelled', () => {
    const world = new World();
    const execution = world.submit({});
    world.cancel(execution, 'the user left');
    expect(explained(world, execution)).toMatchObject({
      status: 'cancelled',
      reason: 'cancelled',
      because: 'the user left',
    });
  });

  it('names the root cause when it was skipped', () => {
    const world = new World();
    const root = world.submit({ id: 'fetch-a', toolName: 'fetch' });
    world.submit({ id: 'parse', dependsOn: ['fetch-a'] });
    const last = world.submit({ id: 'merge', dependsOn: ['parse'] });
    world.fail(root);
    expect(explained(world, last)).toMatchObject({
      status: 'skipped',
      reason: 'skipped',
      cause: { id: 'fetch-a', toolName: 'fetch', status: 'failed' },
    });
  });

  it('tells when a cancelled dependency was the cause', () => {
    const world = new World();
    const root = world.submit({ id: 'a', toolName: 'fetch' });
    const dependent = world.submit({ dependsOn: ['a'] });
    world.cancel(root);
    expect(explained(world, dependent)).toMatchObject({ reason: 'skipped' });
  });

  it('tells that a compensation was not needed', () => {
    const world = new World();
    const root = world.submit({ id: 'a' });
    const compensation = world.submit({ dependsOn: ['a'], onDependencyFailure: 'on-failure' });
    world.succeed(root);
    expect(explained(world, compensation)).toMatchObject({
      reason: 'skipped',
      cause: undefined,
    });
  });
});

it('reads as in the golden file', async () => {
  await expect(explanations.texts.join('\n')).toMatchFileSnapshot('golden/explain.txt');
});
