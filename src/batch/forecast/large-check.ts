import { randomInt } from 'node:crypto';
import { EdgeLists } from '../../core/edge-lists.ts';
import { VolleyError } from '../../core/errors.ts';
import { IdMap } from '../../core/id-map.ts';
import { show } from '../../core/numbers.ts';
import { addBatchAction } from '../actions/add-batch.ts';
import { TaskCheck } from '../add-tasks.ts';
import type { BatchContext } from '../context.ts';
import { checkInput } from '../input/check.ts';
import type { TaskInput } from '../input/fields.ts';

/**
 * Checks tasks that are too many to be in memory at once: first the ids of all, then the tasks, part by part. Ids and
 * dependencies are kept as numbers.
 */
export class LargeCheck {
  private readonly nodes = new IdMap(randomInt(2 ** 31));
  private readonly edges = new EdgeLists();
  /** The highest number of a task that a checked one depends on. */
  private lastNeeded = -1;

  constructor(
    private readonly context: BatchContext,
    private readonly batch: string,
  ) {}

  /** The number of tasks. */
  get size(): number {
    return this.edges.nodes;
  }

  /** Adds the ids of the next tasks. Throws if one was there before. An id that is no string is refused later. */
  addIds(ids: readonly unknown[]): void {
    for (const id of ids) {
      const node = this.edges.addNode();
      if (typeof id !== 'string') continue;
      if (this.nodes.get(id) >= 0)
        throw new VolleyError('DUPLICATE_ID', `Two tasks have the id ${show(id)}. Ids must be unique.`, {
          id,
        });
      this.nodes.set(id, node);
    }
  }

  /** Validates some of the tasks as `add_batch` does, with the ids of all others known. */
  async check(given: readonly unknown[]): Promise<void> {
    const request = checkInput(addBatchAction.schema, 'add_batch', { batch: this.batch, tasks: given });
    const { tasks: inputs } = request as { tasks: readonly (TaskInput & { readonly id: string })[] };
    const ids = inputs.map(({ id }) => id);
    const others = { has: (id: string) => this.nodes.get(id) >= 0 };
    const coordinator = await this.context.coordinator();
    const check = new TaskCheck(coordinator, this.context.store, this.batch, ids, others);
    for (const { id, options } of await check.tasksOf(inputs)) {
      const node = this.nodes.get(id);
      for (const other of options.dependsOn ?? []) {
        const dependency = this.nodes.get(other);
        if (dependency < 0) continue;
        this.edges.addEdge(dependency, node);
        this.lastNeeded = Math.max(this.lastNeeded, dependency);
      }
    }
  }

  /** Whether the tasks checked so far depend on none with this number or a higher one. */
  isClosedBefore(number: number): boolean {
    return this.lastNeeded < number;
  }

  /** The numbers of tasks each of which depends on the next, and the last on the first; undefined if there is no cycle. */
  cycle(): readonly number[] | undefined {
    return this.edges.cycle();
  }

  /** How many tasks there are in each wave: those without dependencies, those that depend only on these, and so on. */
  waves(): number[] {
    const depths = new Int32Array(this.size);
    const waves: number[] = [];
    for (const node of this.edges.order()) {
      const depth = depths[node]!;
      waves[depth] = (waves[depth] ?? 0) + 1;
      this.edges.forDependents(node, (dependent) => {
        depths[dependent] = Math.max(depths[dependent]!, depth + 1);
      });
    }
    return waves;
  }
}
