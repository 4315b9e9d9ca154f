import { expect } from 'vitest';
import type { Execution } from '../../../src/core/execution.ts';
import { type Explanation, explain } from '../../../src/core/explain.ts';
import type { World } from './world.ts';

/** Asks for explanations, and keeps their texts for a golden file. */
export class Explanations {
  readonly texts: string[] = [];

  of(world: World, execution: Execution): Explanation {
    return this.note(explain(world.scheduler, execution, world.now));
  }

  ofQueued(world: World, execution: Execution): Explanation {
    const explanation = this.of(world, execution);
    expect(explanation.status).toBe('queued');
    return explanation;
  }

  note(explanation: Explanation): Explanation {
    this.texts.push(explanation.text);
    return explanation;
  }
}
