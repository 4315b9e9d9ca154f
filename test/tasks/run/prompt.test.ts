import { expect, test } from 'vitest';
import type { Feature, Subtask } from '../../../src/tasks/files/feature.ts';
import { buildPrompt, PLACEHOLDERS } from '../../../src/tasks/run/prompt.ts';
import { feature } from '../support/feature.ts';

const TASK = {
  name: 'Authentication',
  objective: 'People can sign in.',
  context_files: ['docs/style.md'],
};

/** The first subtask of a feature that says this of it, and the feature. */
function one(fields: Readonly<Record<string, unknown>> = {}, task = {}): readonly [Subtask, Feature] {
  const made = feature({ '02': { title: 'Sign-in service', ...fields } }, task);
  return [made.subtasks[0]!, made];
}

test('a prompt has all that a subtask says, and how to tell that it is done', () => {
  const full = one(
    {
      description: 'Passwords are stored as salted hashes.',
      acceptance_criteria: ['Wrong passwords are refused'],
      deliverables: ['src/auth/**'],
      context_files: [{ path: 'docs/security.md', lines: '10-50', reason: 'how keys are kept' }],
      reference_files: ['src/users.ts'],
      verification: [
        { type: 'command', command: 'npm test', expect_text: '0 failed' },
        { type: 'file_exists', path: 'src/auth/index.ts' },
        { type: 'file_contains', path: 'src/auth/index.ts', text: 'signIn' },
      ],
    },
    TASK,
  );
  const [mate] = one({ title: 'Rotate keys', deliverables: ['src/keys.ts'] });

  const prompt = buildPrompt(...full, {
    session: '.tmp/sessions/1/context.md',
    batchMates: [{ ...mate, seq: '03' }],
    earlier: ['`src/auth/index.ts` does not exist'],
  });

  for (const expected of [
    'Authentication',
    '# Subtask 02: Sign-in service',
    'Passwords are stored as salted hashes.',
    'People can sign in.',
    '- Wrong passwords are refused',
    '- `src/auth/**`',
    '- `docs/style.md`',
    '- `docs/security.md`, lines 10-50: how keys are kept',
    '- `src/users.ts`',
    '- `npm test` exits with status 0 and prints "0 failed"',
    '- `src/auth/index.ts` exists',
    '- `src/auth/index.ts` contains "signIn"',
    '`.tmp/sessions/1/context.md`',
    '- 03 Rotate keys (`src/keys.ts`)',
    '- `src/auth/index.ts` does not exist',
    '    volley tasks complete auth 02 "SUMMARY"',
  ]) {
    expect(prompt).toContain(expected);
  }
  expect(prompt).not.toMatch(/\{\{|\n\n\n|undefined/);
});

test('a prompt has no headings without anything below them', () => {
  const prompt = buildPrompt(...one(), { batchMates: [] });
  expect(prompt).not.toMatch(
    /Deliverables:|Checks:|Read first|reference:|Other agents|previous attempt|undefined/,
  );
  expect(prompt).not.toMatch(/\n\n\n/);
});

test('a template of the user can use every placeholder, and what values hold is never taken for one', () => {
  const template = PLACEHOLDERS.map((name) => `${name}={{${name}}}`).join('\n');
  const prompt = buildPrompt(...one({ title: 'Write {{seq}} and $1' }), {
    batchMates: [],
    template,
  });
  expect(prompt).toContain('title=Write {{seq}} and $1\n');
  expect(prompt).toContain('seq=02\n');
  expect(prompt).toContain('feature=auth\n');
  expect(prompt).toContain('deliverables=\n');
});

test('a template with a placeholder that means nothing is refused, with those that it can use', () => {
  const build = () => buildPrompt(...one(), { batchMates: [], template: 'Do {{titel}}.' });
  expect(build).toThrow(/\{\{titel\}\}.*\{\{title\}\}/);
});
