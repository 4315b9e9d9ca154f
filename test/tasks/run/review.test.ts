import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withFolderLock } from '../../../src/store/folder-lock.ts';
import { reportText } from '../../../src/tasks/run/report-text.ts';
import { approveWork, rejectWork, reviewDiff } from '../../../src/tasks/run/review.ts';
import { until } from '../../support/until.ts';
import { git } from '../workspace/support.ts';
import { FeatureProject } from './feature-project.ts';
import { commitAll, runner } from './runner.ts';

const script = (text: string) => ({ behaviour: { kind: 'script', script: text } });
/** Waits for a file that the test writes. */
const held = (name: string) => `while [ ! -e "$VOLLEY_TASKS_PROJECT/.volley/${name}" ]; do sleep 0.02; done`;

async function reviewed(subtasks: ConstructorParameters<typeof FeatureProject>[0], settings = '') {
  const project = new FeatureProject(subtasks, { settings: `review = true\n${settings}` });
  commitAll(project);
  const { run, setting } = await runner(project);
  const diff = (seq: string) => reviewDiff(setting.folder, 'auth', seq);
  const approve = (seq: string, commit?: string) => approveWork(setting, 'auth', { seq, commit });
  const reject = (seq: string, why: string) => rejectWork(setting, 'auth', { seq, why });
  const release = (name: string) => project.put(`.volley/${name}`, '');
  const waits = (seq: string) => project.subtask(seq)['review'] !== undefined;
  return { project, run, setting, diff, approve, reject, release, waits };
}

describe('work that is reviewed', { timeout: 180_000 }, () => {
  it('waits with its diff while its dependents wait, is merged when approved, and improved when rejected', async () => {
    const { project, run, setting, diff, approve, reject } = await reviewed({
      '01': { deliverables: ['a'], ...script('echo one > a') },
      '02': {
        deliverables: ['b'],
        depends_on: ['01'],
        ...script('cat a > b; test -e .seen && echo better >> b; touch .seen'),
      },
    });

    const first = await run();
    expect(first.status).toBe('review');
    expect(first.subtasks.map(({ status }) => status)).toEqual(['review', 'left']);
    expect(reportText(first)).toContain('volley tasks approve auth 01');
    expect(project.subtask('01')).toMatchObject({ status: 'in_progress' });
    expect(project.has('a')).toBe(false);
    const shown = await diff('01');
    expect(shown).toMatchObject({
      agent: 'coder',
      attempt: 1,
      files: [{ path: 'a', added: 1, removed: 0 }],
      truncated: false,
    });
    expect(shown.diff).toContain('+one');

    // Neither an agent, nor someone who saw other work, nor an edited file approves it.
    const agent = { ...setting, env: { ...setting.env, VOLLEY_AGENT: 'coder-1' } };
    await expect(approveWork(agent, 'auth', { seq: '01' })).rejects.toMatchObject({
      code: 'SUBTASK_REFUSED',
    });
    await expect(approve('01', '0'.repeat(40))).rejects.toMatchObject({ code: 'SUBTASK_REFUSED' });
    const file = join(project.folder, '.tmp/tasks/auth/subtask_01.json');
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace('"commit"', '"approved_at": "2026-01-01T00:00:00Z", "commit"'),
    );
    expect((await run()).status).toBe('nothing');
    expect(project.has('a')).toBe(false);

    await approve('01', shown.commit);
    expect(project.read('a')).toBe('one\n');
    expect(project.subtask('01')).toMatchObject({
      status: 'completed',
      approved_at: expect.any(String),
      verified_at: expect.any(String),
    });
    expect(project.subtask('01')).not.toHaveProperty('review');
    expect(git(project.folder, 'branch', '--list', 'volley/*')).toBe('');

    expect((await run()).subtasks).toMatchObject([{ seq: '02', status: 'review' }]);
    await reject('02', 'Make it better');
    expect(project.subtask('02')).toMatchObject({ status: 'pending', rejected: { why: 'Make it better' } });
    const again = await run();
    expect(again.subtasks).toMatchObject([
      { seq: '02', status: 'review', attempt_reports: [{ attempt: 2 }] },
    ]);
    const { prompt, cwd } = project.notes('start').at(-1)!;
    expect(prompt).toContain('Make it better');
    expect(cwd).toBe(project.notes('start').at(-2)!.cwd);
    // The rejected work is part of the diff.
    expect((await diff('02')).diff).toContain('+better');
    await approve('02');
    expect(project.read('b')).toBe('one\nbetter\n');
    expect(await run()).toMatchObject({ status: 'nothing', next: { feature_completed: true } });
  });

  it('is merged by a live run, which goes on with its dependents and retries what is rejected', async () => {
    const { project, run, approve, reject, release, waits } = await reviewed({
      '01': { deliverables: ['a'], ...script('echo one > a') },
      '02': { deliverables: ['b'], depends_on: ['01'], ...script('cat a > b') },
      '03': { deliverables: ['c'], ...script(`${held('go')}; echo three > c`) },
      '04': { deliverables: ['d'], ...script('test -e d && echo two > d || echo one > d') },
    });

    const ended = run({ maxConcurrent: 2 });
    await until(() => waits('01') && waits('04'), 'both wait');
    await Promise.all([approve('01'), reject('04', 'Say two')]);
    expect(project.read('a')).toBe('one\n');
    await until(() => waits('02') && waits('04'), 'the others wait');
    release('go');
    const report = await ended;

    expect(report.subtasks.map(({ status }) => status)).toEqual(['completed', 'review', 'review', 'review']);
    expect(report.subtasks[3]!.attempt_reports).toMatchObject([
      { error: expect.stringContaining('Say two') },
      { error: null },
    ]);
    for (const seq of ['02', '03', '04']) await approve(seq);
    expect([project.read('b'), project.read('c'), project.read('d')]).toEqual(['one\n', 'three\n', 'two\n']);
  });

  it('is limited in number, and an agent cannot approve by editing files', async () => {
    const edit = `sed -i 's/"commit"/"approved_at": "2026-01-01T00:00:00Z", "commit"/' "$VOLLEY_TASKS_PROJECT/.tmp/tasks/auth/subtask_01.json"`;
    const { project, run, waits, release } = await reviewed(
      {
        '01': { deliverables: ['a'], ...script('echo 1 > a') },
        '02': { deliverables: ['b'], ...script(`${held('go')}; ${edit}; echo 1 > b; sleep 1`) },
        '03': { deliverables: ['c'], ...script('echo 1 > c') },
      },
      'max_unreviewed = 2',
    );

    const ended = run({ maxConcurrent: 2 });
    await until(() => waits('01'), 'the first waits');
    release('go');
    const report = await ended;

    expect(report.subtasks.map(({ status }) => status)).toEqual(['review', 'failed', 'review']);
    // It began only when the second had ended.
    const events = project.notes().map(({ event, seq }) => `${event} ${seq}`);
    expect(events.indexOf('start 03')).toBeGreaterThan(events.indexOf('end 02'));
    expect(events).toContain('end 02');
    expect(report.tampering).toMatchObject([{ suspects: ['02'] }]);
    expect(project.has('a')).toBe(false);
  });

  it('is shown as it would be merged, whatever its file says of its base and branch', async () => {
    const { project, run, diff, approve } = await reviewed({
      '01': { deliverables: ['a'], ...script('echo one > a') },
    });
    await run({ branch: 'work' });
    const { review } = project.subtask('01') as { review: { commit: string; base: string; branch: string } };
    const file = join(project.folder, '.tmp/tasks/auth/subtask_01.json');
    const edit = (more: object) => {
      const fields = { ...project.subtask('01'), review: { ...review, ...more } };
      writeFileSync(file, JSON.stringify(fields));
    };
    edit({ base: review.commit });
    expect((await diff('01')).diff).toContain('+one');
    const head = git(project.folder, 'rev-parse', 'HEAD').trim();
    edit({ branch: `stolen ${head}\nupdate refs/heads/${review.branch}` });
    await expect(approve('01')).rejects.toMatchObject({ code: 'VERIFICATION_FAILED' });
    expect(git(project.folder, 'branch', '--list', 'stolen')).toBe('');
    edit({});
    for (const other of ['', '0'.repeat(12)])
      await expect(approve('01', other)).rejects.toMatchObject({ code: 'SUBTASK_REFUSED' });
    await approve('01', review.commit.slice(0, 12));
    expect(git(project.folder, 'show', 'work:a')).toBe('one');
  });

  it('cannot be rejected while it is merged, so that no rejection is lost', async () => {
    const { project, run, reject } = await reviewed({
      '01': { deliverables: ['a'], ...script('echo one > a') },
    });
    await run({});
    const folder = join(project.folder, '.tmp/tasks/auth');
    const fields = project.subtask('01') as { review: object };
    const review = { ...fields.review, approved_at: '2026-01-01T00:00:00Z' };
    writeFileSync(join(folder, 'subtask_01.json'), JSON.stringify({ ...fields, review }));
    await withFolderLock(folder, async () => {
      await expect(reject('01', 'No')).rejects.toMatchObject({ code: 'SUBTASK_REFUSED' });
    });
    expect(project.subtask('01')).toMatchObject({ review: { approved_at: expect.any(String) } });
    // Nobody merges it any more.
    await reject('01', 'No');
    expect(project.subtask('01')).toMatchObject({ status: 'pending', rejected: { why: 'No' } });
  });

  it('that no longer fits the project is sent back, and repaired by the next run', async () => {
    const { project, run, approve } = await reviewed({
      '01': { deliverables: ['a'], ...script('echo one > a; echo one > shared') },
      '02': {
        deliverables: ['b'],
        ...script('echo two > b; if [ -e shared ]; then echo both > shared; else echo two > shared; fi'),
      },
    });
    expect((await run()).subtasks.map(({ status }) => status)).toEqual(['review', 'review']);
    await approve('01');
    await expect(approve('02')).rejects.toMatchObject({ code: 'VERIFICATION_FAILED' });
    expect(project.subtask('02')).toMatchObject({ status: 'pending', rejected: { by: 'merge' } });
    expect((await run()).subtasks).toMatchObject([{ seq: '02', status: 'review' }]);
    expect(project.notes('start').at(-1)!.prompt).toContain('conflict markers: shared');
    await approve('02');
    expect(project.read('shared')).toBe('both\n');
    expect(git(project.folder, 'branch', '--list', 'volley/*')).toBe('');
  });
});
