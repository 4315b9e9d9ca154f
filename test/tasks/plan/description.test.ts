import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { onlyErrors } from '../../../src/tasks/files/feature.ts';
import { parseFeature } from '../../../src/tasks/files/parse-feature.ts';
import { parseDescription } from '../../../src/tasks/plan/description.ts';
import { renderDraft } from '../../../src/tasks/plan/draft.ts';
import { parseTaskMaster } from '../../../src/tasks/plan/task-master.ts';
import { validateFeature } from '../../../src/tasks/plan/validate.ts';
import { NOW } from '../support/feature.ts';

const MARKDOWN = `# Sign-in for everyone

Feature: auth
Context: docs/a.md, \`docs/b.md\`

People can sign in.
In two ways.

- All tests pass

## 01 Set up

- Delivers: package.json, src/{a,b}.ts
- **Verify:** \`npm test\`
- Verify: file_contains src/a.ts export const
- It compiles

## 2 factor login
Depends on: 1
Parallel: no
Agent: CoderAgent

Note: with codes.
\`\`\`
## not a subtask
\`\`\`
`;

describe('a description', () => {
  test('in Markdown becomes a feature that is valid', () => {
    const { name, texts } = renderDraft(parseDescription('auth.md', MARKDOWN), NOW);
    const feature = parseFeature(name, texts);
    expect(onlyErrors(validateFeature(feature))).toEqual([]);
    expect(feature.task).toMatchObject({
      id: 'auth',
      name: 'Sign-in for everyone',
      objective: 'People can sign in.\nIn two ways.',
      contextFiles: [{ path: 'docs/a.md' }, { path: 'docs/b.md' }],
      exitCriteria: ['All tests pass'],
      subtaskCount: 2,
      completedCount: 0,
    });
    expect(feature.subtasks).toMatchObject([
      {
        seq: '01',
        title: 'Set up',
        parallel: true,
        deliverables: ['package.json', 'src/{a,b}.ts'],
        acceptanceCriteria: ['It compiles'],
        verification: [
          { type: 'command', command: 'npm test' },
          { type: 'file_contains', path: 'src/a.ts', text: 'export const' },
        ],
      },
      {
        seq: '02',
        title: '2 factor login',
        parallel: false,
        dependsOn: ['01'],
        suggestedAgent: 'CoderAgent',
        description: 'Note: with codes.\n```\n## not a subtask\n```',
      },
    ]);
  });

  test('in YAML has the fields of the files, and keeps others', () => {
    const yaml =
      'name: Sign in\nmine: 1\nsubtasks:\n  - title: One\n    theirs: [2]\n  - { seq: 120, title: Two, depends_on: ["01"] }\n';
    const { name, texts } = renderDraft(parseDescription('a.yaml', yaml), NOW);
    expect(name).toBe('sign-in');
    expect([...texts.keys()]).toEqual(['subtask_01.json', 'subtask_120.json', 'task.json']);
    expect(JSON.parse(texts.get('subtask_01.json')!)).toMatchObject({ seq: '01', theirs: [2] });
    expect(JSON.parse(texts.get('task.json')!)).toMatchObject({ mine: 1, subtask_count: 2 });
  });

  test.each(['markdown', 'yaml'])('in %s is valid as the guide shows it', (language) => {
    const guide = readFileSync(new URL('../../../docs/tasks.md', import.meta.url), 'utf8');
    const shown = new RegExp(`\`\`\`${language}\\n([^]*?)\\n\`\`\``).exec(guide)![1]!;
    const { name, texts, warnings } = renderDraft(parseDescription(`a.${language}`, shown), NOW);
    expect([name, texts.size, onlyErrors(warnings)]).toEqual(['auth-system', 3, []]);
  });

  test.each([
    ['a.txt', '', '.md, .yaml or .json'],
    ['a.md', '## One', '"# Name"'],
    ['a.md', '# Name', '"## Title"'],
    ['a.md', '# Name\n## One\nDepends on: 07', '"07"'],
    ['a.md', '# Name\n## 01 One\n## 01 Two', '01'],
    ['a.md', '# Name\nFeature: ../up\n## One', '"../up"'],
    ['a.md', '# Completed\n## One', '"completed"'],
    ['a.yaml', 'name: [', 'a.yaml: '],
    ['a.yaml', 'name: A\nsubtasks: 3', '"subtasks"'],
  ])('%s with %j is refused, and the error names %s', (file, text, named) => {
    expect(() => renderDraft(parseDescription(file, text), NOW)).toThrow(
      expect.objectContaining({ code: 'INVALID_FEATURE', message: expect.stringContaining(named) }),
    );
  });
});

describe('a tasks.json of claude-task-master', () => {
  const tasks = [
    {
      id: 1,
      title: 'Init',
      status: 'done',
      dependencies: [],
      priority: 'high',
      testStrategy: 'Look at it',
      details: 'With npm',
    },
    {
      id: 2,
      title: 'Core',
      status: 'in-progress',
      dependencies: [1],
      subtasks: [
        { id: 1, title: 'Auth', status: 'done', dependencies: [] },
        { id: 2, title: 'Database', status: 'pending', dependencies: [1, '4'] },
        { id: 3, title: 'Not this', status: 'cancelled', dependencies: [2] },
      ],
    },
    { id: '3', title: 'UI', status: 'deferred', dependencies: ['2', '5'] },
    { id: 4, title: 'Gateway', status: 'review', dependencies: ['1'] },
    { id: 5, title: 'Dropped', status: 'cancelled' },
  ];

  test.each([
    ['with tags', { master: { tasks }, other: { tasks: [] } }],
    ['of one list', { tasks, meta: {} }],
  ])('%s becomes a feature in which subtasks stand for their task', (_, data) => {
    const draft = parseTaskMaster('tasks.json', JSON.stringify(data), undefined);
    const { name, texts } = renderDraft({ ...draft, feature: 'app' }, NOW);
    const { subtasks, task } = parseFeature(name, texts);
    expect(
      subtasks.map(({ seq, title, status, dependsOn }) => [seq, title, status, dependsOn.join()]),
    ).toEqual([
      ['01', 'Init', 'completed', ''],
      ['02', 'Core: Auth', 'completed', '01'],
      ['03', 'Core: Database', 'pending', '01,02,05'],
      ['04', 'UI', 'blocked', '02,03'],
      ['05', 'Gateway', 'pending', '01'],
    ]);
    expect(subtasks[0]).toMatchObject({
      priority: 'high',
      description: 'With npm',
      acceptanceCriteria: ['Look at it'],
    });
    expect(task).toMatchObject({ subtaskCount: 5, completedCount: 2 });
  });

  test('takes the tag that is asked for, and knows the nearest', () => {
    const text = JSON.stringify({ master: { tasks: [] }, 'auth-work': { tasks } });
    expect(parseTaskMaster('t.json', text, 'auth-work').subtasks).toHaveLength(5);
    expect(() => parseTaskMaster('t.json', text, 'auth-wrok')).toThrow('"auth-work"');
    const invalid = expect.objectContaining({ code: 'INVALID_FEATURE' });
    expect(() => parseTaskMaster('t.json', '{"a":1}', undefined)).toThrow(invalid);
    expect(() => parseTaskMaster('t.json', '{', undefined)).toThrow(invalid);
  });
});
