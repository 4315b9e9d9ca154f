import { setTimeout } from 'node:timers/promises';
import type { ExecutionContext, TaskContext } from '../../../src/index.ts';
import { obedient } from './held-tool.ts';

const PRIORITIES = ['critical', 'high', 'normal', 'low', 'background'] as const;
const DEEPEST = 3;

/** Makes work of all kinds out of random numbers, and watches that no two hold the lock at the same time. */
export class RandomWork {
  /** How often somebody entered while another was inside. */
  collisions = 0;
  private inside: TaskContext | undefined;

  constructor(private readonly random: () => number) {}

  isLikely(share: number): boolean {
    return this.random() < share;
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  context(): ExecutionContext {
    return {
      toolName: this.pick(['read', 'write', 'fetch']),
      priority: this.pick(PRIORITIES),
      timeoutMs: this.isLikely(0.3) ? 1 + this.below(10) : 80,
      ...(this.isLikely(0.3) && { retry: { maxRetries: this.below(3), delayMs: this.below(5) } }),
      ...(this.isLikely(0.1) && { deadlineMs: 1 + this.below(30) }),
      ...(this.isLikely(0.1) && { stallMs: 1 + this.below(8) }),
      ...(this.isLikely(0.2) && { group: this.pick(['a', 'b']) }),
      ...(this.isLikely(0.1) && { conflictsWith: [this.pick(['read', 'write', 'fetch'])] }),
      ...(this.isLikely(0.3) && { resources: { exclusive: ['lock'], cpu: this.random() } }),
    };
  }

  /** A function for the context: quick or slow, failing, obedient or stubborn, with children or without. */
  function({ resources }: ExecutionContext, depth = 0): (task: TaskContext) => Promise<unknown> {
    const kind = this.random();
    const ms = this.below(6);
    const isLocked = resources?.exclusive !== undefined;
    return async (task) => {
      if (isLocked) this.enter(task);
      try {
        if (kind < 0.15) return 'at once';
        if (kind < 0.25) throw new Error('broken');
        if (kind < 0.55 && depth < DEEPEST) await this.waitForChildren(task, depth + 1, isLocked);
        else if (kind < 0.65) await obedient(task);
        else if (kind < 0.7) await setTimeout(50);
        task.report(0.5);
        await setTimeout(ms);
        return 'in the end';
      } finally {
        this.leave(task);
      }
    };
  }

  private async waitForChildren(task: TaskContext, depth: number, isLocked: boolean): Promise<void> {
    const children = Array.from({ length: 1 + this.below(3) }, () => {
      const context = this.context();
      return task.submit(context, this.function(context, depth));
    });
    if (this.isLikely(0.5)) {
      this.leave(task);
      await Promise.all(children.map((child) => child.outcome()));
      if (isLocked) this.enter(task);
      return;
    }
    for (const child of children) {
      this.leave(task);
      await child.outcome();
      if (isLocked) this.enter(task);
    }
  }

  /** One that was told to stop may lose its room at any moment: it does not count. */
  private enter(task: TaskContext): void {
    if (task.signal.aborted) return;
    if (this.inside !== undefined && this.inside !== task && !this.inside.signal.aborted) this.collisions++;
    this.inside = task;
  }

  private leave(task: TaskContext): void {
    if (this.inside === task) this.inside = undefined;
  }
}
