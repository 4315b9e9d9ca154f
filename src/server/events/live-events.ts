import type { ServerResponse } from 'node:http';
import type { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import type { BatchEvent, TaskEvent } from '../../batch/run/events.ts';
import { type CallId, readCallId } from '../../coordinator/call-group.ts';
import type { ParallelExecutionEngine } from '../../engine/engine.ts';
import type { ProgressUpdate } from '../../engine/updates.ts';
import type { FeedBody, FeedEvent, FeedPage, StoreFeed } from '../../store/feed.ts';
import type { Store } from '../../store/store.ts';
import type { StoreWatch } from '../../store/store-watch.ts';
import { batchBody } from '../wire/batch.ts';
import type { EventBody } from '../wire/event.ts';
import {
  checkHubOptions,
  EventHub,
  type HubCounts,
  type HubOptions,
  type Missed,
  type StreamRequest,
} from './event-hub.ts';
import { FeedTail } from './feed-tail.ts';
import { feedId, feedPlaceIn, frameOf } from './frame-log.ts';
import { ProgressRate } from './progress-rate.ts';
import { RemoteSpeeds } from './remote-speeds.ts';
import { readViews, takeSnapshot } from './snapshots.ts';

export interface LiveParts {
  readonly engine: ParallelExecutionEngine;
  readonly executor: BatchExecutor;
  /** The store of the executor. */
  readonly store: Store;
  readonly watch: StoreWatch;
}

type CallBody = EventBody<'call'>;
type CallUpdate = Exclude<ProgressUpdate, { type: 'abandoned' }>;
type LatestReport = Pick<Extract<TaskEvent, { type: 'progress' }>, 'progress' | 'step'>;

const MAX_STEP_LENGTH = 200;

/**
 * Publishes what happens to batches and to calls: in this process from the events of the executor and of the engine, in
 * others as it is found in the store. No arguments, no results, no texts of errors. If the store has a feed, everything
 * about batches comes from there, so that all servers say the same in the same order, and each can go on for another.
 */
export class LiveEvents {
  /** Of batches that other processes run. While there are clients, they hear of changes. */
  readonly speeds: RemoteSpeeds;
  private readonly hub: EventHub;
  private readonly tasks: ProgressRate<TaskEvent>;
  private readonly calls: ProgressRate<CallBody>;
  /** The latest report of each call that runs. */
  private readonly reports = new Map<string, LatestReport>();
  private readonly batchMs: number;
  /** By group of calls. */
  private readonly callListeners = new Map<string, (body: CallBody) => void>();
  /** Batches of which a view is due. */
  private readonly changed = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  /** One view after the other, so that an older one never follows a newer one. */
  private publishing: Promise<void> = Promise.resolve();
  /** Responses that are, or are about to be, streams. */
  private responses = 0;
  private unwatch: (() => void) | undefined;
  private readonly feed: StoreFeed | undefined;
  private readonly tail: FeedTail | undefined;
  private readonly unlisten: readonly (() => void)[];

  constructor(
    private readonly parts: LiveParts,
    given: HubOptions = {},
  ) {
    const { engine, executor, store, watch } = parts;
    const options = checkHubOptions(given);
    this.batchMs = options.batchMs;
    this.speeds = new RemoteSpeeds(executor, (batch) => {
      if (this.subscribers > 0) this.batchChanged(batch);
    });
    const { feed } = store;
    this.feed = feed;
    this.hub = new EventHub(
      (batch) => takeSnapshot(executor, store, this.speeds, batch),
      options,
      feed && ((id, batch) => this.findMissed(feed, id, batch)),
    );
    this.tail =
      feed &&
      new FeedTail(feed, {
        event: (event) => this.takeFeedEvent(event),
        reached: (place) => this.hub.log.reached(place),
        lost: (place) => {
          this.hub.skip();
          this.hub.log.reached(place);
        },
      });
    this.tasks = new ProgressRate(options.progressMs, (event) => this.publishTask(event));
    this.calls = new ProgressRate(options.progressMs, (body) => this.publishCall(body));
    this.unlisten = [
      executor.follow((event) => this.takeBatchEvent(event)),
      engine.progress.listen((update) => this.takeUpdate(update)),
      feed === undefined
        ? watch.listen({
            changed: (batch) => this.batchChanged(batch),
            gone: (batch) => this.hub.publish('cleared', batch, { batch, at: Date.now() }),
          })
        : () => undefined,
    ];
  }

  get subscribers(): number {
    return this.hub.subscribers;
  }

  counts(): HubCounts {
    return this.hub.counts();
  }

  /** Makes the response a stream of events: see {@link EventHub.subscribe}. */
  async subscribe(request: StreamRequest, response: ServerResponse): Promise<void> {
    if (response.destroyed) return;
    this.responses++;
    response.once('close', () => {
      if (--this.responses === 0) this.stopWatching();
    });
    // First: a change between this look and the snapshot is published twice rather than never.
    if (this.tail === undefined) {
      this.unwatch ??= this.parts.watch.start();
      await this.parts.watch.ready();
    } else await this.tail.start();
    await this.hub.subscribe(request, response);
  }

  /** Calls the listener with what happens to the calls of a group of the coordinator. Returns how to stop that. */
  followCalls(group: string, listener: (body: CallBody) => void): () => void {
    this.callListeners.set(group, listener);
    return () => void this.callListeners.delete(group);
  }

  /** Publishes what is still due, then nothing more, and ends all streams. */
  async close(reason: 'shutdown'): Promise<void> {
    for (const unlisten of this.unlisten) unlisten();
    if (this.responses > 0) await this.tail?.catchUp().catch(() => undefined);
    this.stopWatching();
    this.tasks.close();
    this.calls.close();
    clearTimeout(this.timer);
    this.publishChanged();
    await this.publishing;
    await this.hub.close(reason);
  }

  private stopWatching(): void {
    this.unwatch?.();
    this.unwatch = undefined;
    this.tail?.stop();
  }

  private takeBatchEvent(event: BatchEvent): void {
    if (this.feed === undefined) this.publishBatchEvent(event);
    else if ('seq' in event) this.reportTask(this.feed, event);
  }

  /** Adds to the feed what is not in the store: reports of progress, and which quota a task waits for. */
  private reportTask(feed: StoreFeed, event: TaskEvent): void {
    if (event.type === 'progress') this.tasks.add(taskKey(event), event);
    else this.tasks.forget(taskKey(event));
    if (event.type === 'retrying' && event.quota !== undefined) this.addToFeed(feed, event);
  }

  private addToFeed(feed: StoreFeed, event: TaskEvent): void {
    const { batch, ...body } = taskBody(event);
    // It is only news, and the run itself reports a broken store.
    feed.report(batch, body).catch(() => undefined);
  }

  private takeFeedEvent({ batch, body, place }: FeedEvent): void {
    this.hub.log.moveTo(place);
    const event = wireEvent(batch, body);
    if (event !== undefined) this.hub.publish(event.type, batch, event.body);
    if (body.event === 'run') this.publishView(batch);
    else this.batchChanged(batch);
  }

  /** What a client missed that was moved here from another server, and then how the batches stand. */
  private async findMissed(
    feed: StoreFeed,
    lastEventId: string,
    batch: string | undefined,
  ): Promise<Missed | undefined> {
    const place = feedPlaceIn(lastEventId);
    if (place === undefined) return undefined;
    const until = await this.tail!.catchUp();
    const number = this.hub.log.last;
    const options = { until, ...(batch !== undefined && { batch }) };
    const first = await feed.read(place, options);
    return first && { number, frames: this.missedFrames(feed, first, options) };
  }

  private async *missedFrames(
    feed: StoreFeed,
    first: FeedPage,
    options: { readonly until: string; readonly batch?: string },
  ): AsyncGenerator<Buffer> {
    for (let page: FeedPage | undefined = first; ; page = await feed.read(page.next, options)) {
      if (page === undefined) throw new Error('The rest of the feed is gone.');
      const frames = page.events.map(({ batch, body, place: own }) => {
        const event = wireEvent(batch, body);
        return event === undefined ? '' : frameOf(event.type, event.body, feedId(own));
      });
      yield Buffer.from(frames.join(''));
      if (page.isLast) break;
    }
    const views = await readViews(this.parts.executor, this.speeds, options.batch);
    yield Buffer.from(views.map((body) => frameOf('batch', body)).join(''));
  }

  private publishBatchEvent(event: BatchEvent): void {
    const { batch, at } = event;
    switch (event.type) {
      case 'added':
        this.hub.publish('added', batch, { batch, from_seq: event.fromSeq, to_seq: event.toSeq, at });
        break;
      case 'changed':
        this.hub.publish('cleared', batch, { batch, at });
        break;
      case 'batch-started':
      case 'batch-ended':
        this.publishView(batch);
        return;
      case 'progress':
        this.tasks.add(taskKey(event), event);
        break;
      default:
        this.tasks.forget(taskKey(event));
        this.publishTask(event);
    }
    this.batchChanged(batch);
  }

  private takeUpdate(update: ProgressUpdate): void {
    const call = readCallId(update);
    if (call === undefined || update.type === 'abandoned') return;
    const { executionId } = update;
    if (update.type === 'progress' || update.type === 'step') {
      const before = this.reports.get(executionId);
      const progress = update.type === 'progress' ? update.progress : before?.progress;
      const report = { progress, step: update.step ?? before?.step };
      this.reports.set(executionId, report);
      this.calls.add(executionId, { ...callBody(call, update), ...reportFields(report) });
      return;
    }
    this.reports.delete(executionId);
    this.calls.forget(executionId);
    this.publishCall(callBody(call, update));
  }

  private publishTask(event: TaskEvent): void {
    if (this.feed === undefined) this.hub.publish('task', event.batch, taskBody(event));
    else this.addToFeed(this.feed, event);
  }

  private publishCall(body: CallBody): void {
    this.hub.publish('call', '', body);
    this.callListeners.get(body.group)?.(body);
  }

  /** The state of a batch may have changed: its view is published soon. */
  private batchChanged(batch: string): void {
    this.changed.add(batch);
    this.timer ??= setTimeout(() => this.publishChanged(), this.batchMs).unref();
  }

  private publishChanged(): void {
    this.timer = undefined;
    for (const batch of this.changed) this.publishView(batch);
  }

  private publishView(batch: string): void {
    this.changed.delete(batch);
    this.publishing = this.publishing.then(async () => {
      try {
        const view = await this.parts.executor.view(batch);
        if (view === undefined) return;
        const known = this.subscribers > 0 ? this.speeds.addAndAsk(view) : view;
        this.hub.publish('batch', batch, batchBody(known));
      } catch {
        // A broken store is reported by the next action that uses it.
      }
    });
  }
}

/** An entry of the feed as an event; undefined if it only says that a batch may stand otherwise. */
function wireEvent(
  batch: string,
  body: FeedBody,
): { readonly type: 'task' | 'added' | 'cleared'; readonly body: never } | undefined {
  const { event = 'task', ...rest } = body;
  return event === 'changed' || event === 'run'
    ? undefined
    : { type: event, body: { batch, ...rest } as never };
}

function taskKey({ batch, seq }: TaskEvent): string {
  return `${seq} ${batch}`;
}

function taskBody(event: TaskEvent): EventBody<'task'> {
  const { batch, id, seq, group, type, attempt, at } = event;
  const body = { batch, id, seq, ...(group !== undefined && { group }), type, attempt, at };
  switch (event.type) {
    case 'progress':
      return { ...body, ...reportFields(event) };
    case 'retrying':
      return { ...body, ...retryFields(event) };
    case 'failed':
      return { ...body, reason: event.reason };
    case 'placed':
      return { ...body, worker: event.worker };
    case 'completed':
      return event.cached ? { ...body, cached: true } : body;
    case 'skipped': {
      const { cause, code } = event;
      return { ...body, ...(cause !== undefined && { cause }), ...(code !== undefined && { code }) };
    }
    default:
      return body;
  }
}

function callBody({ group, id }: CallId, update: CallUpdate): CallBody {
  const { toolName: name, attempt, at } = update;
  const type = update.type === 'step' ? 'progress' : update.type;
  const body = { group, id, name, type, attempt, at };
  switch (update.type) {
    case 'retrying':
      return { ...body, ...retryFields(update) };
    case 'failed':
      return { ...body, reason: update.reason };
    case 'skipped': {
      const cause = update.cause?.slice(group.length + 1);
      return { ...body, ...(cause !== undefined && { cause }) };
    }
    default:
      return body;
  }
}

function retryFields({ reason, retryInMs, quota }: { reason: string; retryInMs: number; quota?: string }) {
  return { reason, retry_in_ms: Math.round(retryInMs), ...(quota !== undefined && { quota }) };
}

function reportFields({ progress, step }: LatestReport): { progress?: number; step?: string } {
  return {
    ...(progress !== undefined && { progress }),
    ...(step !== undefined && { step: step.slice(0, MAX_STEP_LENGTH) }),
  };
}
