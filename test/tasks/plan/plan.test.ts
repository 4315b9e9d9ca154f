import { describe, expect, test } from 'vitest';
import { dependencyTree, featurePlanText, planFeature } from '../../../src/tasks/plan/plan.ts';
import { SubtaskGraph } from '../../../src/tasks/plan/subtask-graph.ts';
import { feature } from '../support/feature.ts';

function plan(subtasks: Record<string, Record<string, unknown>>) {
  const { waves, criticalPath, left, conflicts } = planFeature(feature(subtasks));
  const seqs = (list: readonly { seq: string }[]) => list.map(({ seq }) => seq);
  return { waves: waves.map(seqs), path: seqs(criticalPath), left: seqs(left), conflicts: conflicts.length };
}

describe('a plan', () => {
  test('starts what is independent together, and then what waits for all of it', () => {
    expect(plan({ '01': {}, '02': {}, '03': {}, '04': { depends_on: ['01', '02', '03'] } })).toEqual({
      waves: [['01', '02', '03'], ['04']],
      path: ['01', '04'],
      left: [],
      conflicts: 0,
    });
  });

  test('runs alone what may not run beside others', () => {
    const { waves } = plan({
      '01': {},
      '02': {},
      '03': { parallel: false },
      '04': { depends_on: ['01', '02', '03'] },
    });
    expect(waves).toEqual([['01', '02'], ['03'], ['04']]);
  });

  test('puts what would write the same files into different waves', () => {
    const { waves, conflicts } = plan({
      '01': { deliverables: ['src/api/**'] },
      '02': { deliverables: ['src/api/user.ts'] },
      '03': { deliverables: ['docs/'] },
    });
    expect(waves).toEqual([['01', '03'], ['02']]);
    expect(conflicts).toBe(1);
  });

  test('leaves out what is done, blocked, in a circle, and what waits for such', () => {
    expect(
      plan({
        '01': { status: 'completed' },
        '02': { depends_on: ['01'] },
        '03': { status: 'blocked' },
        '04': { depends_on: ['03'] },
        '05': { depends_on: ['06'] },
        '06': { depends_on: ['05'] },
        '07': { depends_on: ['06'] },
        '08': { depends_on: ['99'] },
      }),
    ).toMatchObject({ waves: [['02']], path: ['02'], left: ['03', '04', '05', '06', '07', '08'] });
  });

  test('finds the longest chain', () => {
    const chain = {
      '01': {},
      '02': {},
      '03': { depends_on: ['02'] },
      '04': { depends_on: ['01', '03'] },
      '05': { depends_on: ['01'] },
    };
    expect(plan(chain).path).toEqual(['02', '03', '04']);
    expect(featurePlanText(feature(chain), planFeature(feature(chain)))).toContain(
      'Critical path (3 steps): 02 → 03 → 04',
    );
  });
});

test('each circle is found once, as a path', () => {
  const { subtasks } = feature({
    '01': { depends_on: ['03'] },
    '02': { depends_on: ['01'] },
    '03': { depends_on: ['02'] },
    '04': { depends_on: ['04'] },
    '05': { depends_on: ['01'] },
  });
  expect(new SubtaskGraph(subtasks).cycles()).toEqual([
    ['01', '03', '02', '01'],
    ['04', '04'],
  ]);
});

test('a tree of dependencies shows each branch once, and ends in a circle', () => {
  const diamond = feature({
    '01': { status: 'completed' },
    '02': { depends_on: ['01'] },
    '03': { depends_on: ['02'] },
    '04': { depends_on: ['02', '03', '09'] },
  });
  expect(dependencyTree(diamond, '4')).toBe(
    [
      '○ 04 - Do 04 [pending]',
      '├── ○ 02 - Do 02 [pending]',
      '│   └── ✓ 01 - Do 01 [completed]',
      '├── ○ 03 - Do 03 [pending]',
      '│   └── ○ 02 - Do 02 [pending] (see above)',
      '└── ! 09 - no such subtask',
    ].join('\n'),
  );
  const circle = feature({ '01': { depends_on: ['02'] }, '02': { depends_on: ['01'] } });
  expect(dependencyTree(circle, '01')).toBe(
    '○ 01 - Do 01 [pending]\n└── ○ 02 - Do 02 [pending]\n    └── ○ 01 - Do 01 [pending] (cycle)',
  );
});
