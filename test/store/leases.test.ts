import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ownIdentity } from '../../src/store/process-identity.ts';
import { startProgram } from './support/program.ts';
import { change } from './support/raw.ts';
import { done, newFile, opened, statuses, tasks } from './support/store.ts';

/** A living process that cannot be seen from here: one in a container of this system. */
const inContainer = { ...ownIdentity(), pid: 1, namespace: 'pid:[1]' };

describe('two processes on one store', () => {
  it('share the batches out, and what a killed one held is free at once', { timeout: 180_000 }, async () => {
    const file = newFile();
    const store = await opened(file);
    const names = Array.from({ length: 40 }, (_, index) => `batch ${index}`);
    await Promise.all(names.map((name) => store.addTasks(name, tasks(2))));
    const programs = [startProgram('contends', [file]), startProgram('contends', [file])];
    for (const program of programs) expect(await program.line()).toBe('ready');
    for (const program of programs) program.send('go');
    const answers = await Promise.all(programs.map(async ({ line }) => JSON.parse((await line())!)));
    const got = answers.flatMap((answer) => answer.got);
    expect(got.sort()).toEqual([...names].sort());
    for (const [index, { refused }] of answers.entries()) {
      const other = programs[1 - index]!.pid;
      for (const { code, message } of refused) {
        expect(code).toBe('BATCH_HELD');
        expect(message).toContain(`process ${other} on `);
      }
    }

    await programs[0]!.kill();
    const orphans: string[] = answers[0].got;
    expect((await store.batches()).filter(({ holder }) => holder === undefined)).toHaveLength(orphans.length);
    const recovery = await store.recover(() => true);
    expect(recovery).toEqual({ reopened: orphans.map((batch) => ({ batch, id: 't1' })), crashed: [] });
    programs[1]!.send('go');
    const rest = JSON.parse((await programs[1]!.line())!);
    expect(rest.got.sort()).toEqual([...orphans].sort());
  });

  it('are not confused by a clock that jumps', { timeout: 180_000 }, async () => {
    const file = newFile();
    const year = 366 * 24 * 3600 * 1000;
    const ahead = await opened(file, { now: () => Date.now() + year });
    const behind = await opened(file, { now: () => Date.now() - year });
    await ahead.addTasks('b', tasks(1));
    const program = startProgram('contends', [file]);
    await program.line();
    program.send('go');
    expect(JSON.parse((await program.line())!)).toEqual({ got: ['b'], refused: [] });
    for (const store of [ahead, behind]) {
      await expect(store.lease('b')).rejects.toMatchObject({ code: 'BATCH_HELD' });
      expect((await store.batch('b'))!.holder).toMatchObject({ pid: program.pid });
      expect(await store.recover(() => true)).toEqual({ reopened: [], crashed: [] });
    }
    await program.kill();
    for (const store of [behind, ahead]) await (await store.lease('b')).release();
  });
});

describe.runIf(process.platform === 'linux')('a holder that has ended', () => {
  it('holds nothing, though its parent has not noticed it', async () => {
    // Some shells ask what became of their children at once; what this one becomes does not.
    const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const pid = Number(String((await once(parent.stdout!, 'data'))[0]));
    const fields = () => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ');
    await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n');
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => fields()[0]).toBe('Z');
    const file = newFile();
    const ended = await opened(file, { identity: { ...ownIdentity(), pid, start: fields()[19] } });
    await ended.addTasks('b', tasks(1));
    await ended.lease('b');
    const store = await opened(file);
    expect((await store.batch('b'))!.holder).toBeUndefined();
    await store.lease('b');
  });
});

describe('a holder that cannot be seen', () => {
  it('holds its batch while it is heard of, whatever the time of day', async () => {
    const file = newFile();
    const hidden = await opened(file, { identity: inContainer, heartbeatMs: 5 });
    const store = await opened(file, { now: () => 0 });
    await hidden.addTasks('b', tasks(1));
    const { lost } = await hidden.lease('b');
    const { seenAt } = (await store.batch('b'))!.holder!;
    change(file, 'UPDATE leases SET beat = beat - 40000');
    await vi.waitFor(
      async () => expect((await store.batch('b'))!.holder!.seenAt).toBeGreaterThan(seenAt),
      60_000,
    );
    await expect(store.lease('b')).rejects.toMatchObject({ code: 'BATCH_HELD' });
    expect(lost.aborted).toBe(false);
  });

  it('loses its batch after a long silence, hears of it, and cannot write late answers', async () => {
    const file = newFile();
    const hidden = await opened(file, { identity: inContainer });
    const store = await opened(file);
    await hidden.addTasks('b', tasks(2));
    await hidden.addTasks('other', tasks(1));
    const { lost, end } = await hidden.lease('b');
    const kept = await hidden.lease('other');
    await hidden.started('b', 1, 1);
    change(file, `UPDATE leases SET beat = beat - 40000 WHERE batch = 1`);
    await store.lease('b');
    await store.recover(() => true, 'b');
    await store.started('b', 1, 2);

    const late = await Promise.allSettled([
      hidden.ended('b', 1, done('"late"'), 3),
      hidden.started('b', 2, 3),
      hidden.putBack('b', 1, 'stopped', 3),
      hidden.started('other', 1, 3),
    ]);
    expect(late.map((answer) => (answer.status === 'rejected' ? answer.reason.code : 'kept'))).toEqual([
      'BATCH_HELD',
      'BATCH_HELD',
      'BATCH_HELD',
      'kept',
    ]);
    // It has ended for itself only.
    expect(await end(4, true)).toBe(true);
    expect(await store.batch('b')).toMatchObject({ endedAt: undefined, holder: { pid: process.pid } });
    expect(lost.aborted).toBe(true);
    expect(lost.reason).toMatchObject({ code: 'BATCH_HELD' });
    expect(kept.lost.aborted).toBe(false);
    expect(await statuses(store, 'b')).toEqual({ t1: 'running', t2: 'open' });
  });

  it('hears of its loss at the next beat, though it writes nothing', async () => {
    const file = newFile();
    const hidden = await opened(file, { identity: inContainer, heartbeatMs: 5 });
    await hidden.addTasks('b', tasks(1));
    const { lost } = await hidden.lease('b');
    change(file, `UPDATE leases SET token = 'of another'`);
    await vi.waitFor(() => expect(lost.aborted).toBe(true), 60_000);
  });
});
