import type { Feature } from '../feature.ts';
import type { Problem } from '../problem.ts';
import { countProblems } from './counts.ts';
import { deliverableProblems } from './deliverables.ts';
import { dependencyProblems } from './dependencies.ts';
import { overlapProblems } from './overlaps.ts';
import { sequenceProblems } from './sequences.ts';

/** Everything that is wrong with a feature. */
export function validateFeature(feature: Feature): Problem[] {
  return [
    ...feature.problems,
    ...countProblems(feature),
    ...sequenceProblems(feature),
    ...dependencyProblems(feature),
    ...deliverableProblems(feature),
    ...overlapProblems(feature),
  ];
}
