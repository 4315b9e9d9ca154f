import { execFile } from 'node:child_process';
import { chmod, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Diagnosis, LayerName } from '../../../src/runners/process/diagnose.ts';
import { buildRunners } from '../support/built.ts';
import { expectedLayers } from '../support/expected-layers.ts';
import { useProcessRunner } from '../support/process-runner.ts';

const rig = useProcessRunner();

function activeLayers({ layers }: Diagnosis): LayerName[] {
  return layers.filter(({ active }) => active).map(({ name }) => name);
}

test('every layer that this machine can have is active', async () => {
  expect(activeLayers(await rig.runner.diagnose())).toEqual(expect.arrayContaining(expectedLayers()));
});

test('a layer that is not active says why', async () => {
  const { layers } = await rig.runner.diagnose();
  expect(layers.filter(({ detail }) => detail.length < 10)).toEqual([]);
  expect(await rig.runner.diagnose()).toBe(await rig.runner.diagnose());
});

/** What the fixture prints. */
interface Report {
  readonly diagnosis: Diagnosis;
  readonly outcomes: Readonly<Record<string, string>>;
  readonly left: number;
}

describe.runIf(process.getuid?.() === 0)('for a user who may not write to cgroups', () => {
  const folders: string[] = [];
  let reports: readonly Report[];

  // Once with and once without bubblewrap, in the same time.
  beforeAll(async () => {
    reports = await Promise.all([run('/usr/local/bin:/usr/bin:/bin'), run(await pathWithoutBubblewrap())]);
  }, 300_000);

  afterAll(async () => {
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
  });

  async function run(path: string): Promise<Report> {
    // A place where that user can read the code.
    const folder = await readableFolder();
    await cp(await buildRunners(), folder, { recursive: true });
    const fixture = join(folder, 'as-nobody.mjs');
    await cp(fileURLToPath(new URL('./fixtures/as-nobody.mjs', import.meta.url)), fixture);
    const { stdout } = await promisify(execFile)(process.execPath, [fixture], {
      uid: 65534,
      gid: 65534,
      cwd: folder,
      env: { PATH: path },
    });
    return JSON.parse(stdout) as Report;
  }

  async function pathWithoutBubblewrap(): Promise<string> {
    const folder = await readableFolder();
    for (const name of ['perl', 'sh', 'dd', 'sleep', 'setsid']) {
      await promisify(execFile)('/bin/sh', ['-c', `ln -s "$(command -v ${name})" ${join(folder, name)}`]);
    }
    return folder;
  }

  async function readableFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'diagnose-test-'));
    folders.push(folder);
    await chmod(folder, 0o755);
    return folder;
  }

  test('bubblewrap still works, and the watch keeps the limits', () => {
    const active = activeLayers(reports[0]!.diagnosis);
    expect(active).toEqual(['launcher', 'process-group', 'rlimits', 'namespaces', 'network', 'memory-watch']);
  });

  test('without bubblewrap the diagnosis says what to install', () => {
    const { diagnosis } = reports[1]!;
    expect(activeLayers(diagnosis)).toEqual(['launcher', 'process-group', 'rlimits', 'memory-watch']);
    const layer = diagnosis.layers.find(({ name }) => name === 'namespaces');
    expect(layer).toMatchObject({ detail: 'bubblewrap (bwrap) is not installed' });
    expect(layer!.remedy).toContain('apt-get install bubblewrap');
    const cgroups = diagnosis.layers.find(({ name }) => name === 'cgroup-memory');
    expect(cgroups!.remedy).toContain('Run as root');
  });

  test('every fault ends with its reason all the same', () => {
    const expected = {
      good: 'completed',
      heap: 'memory',
      buffers: 'memory',
      cpu: 'cpu',
      processes: 'crashed',
      exit: 'crashed',
      orphan: 'completed',
    };
    expect(reports[0]!.outcomes).toEqual({ ...expected, required: 'completed' });
    expect(reports[1]!.outcomes).toEqual({ ...expected, required: 'SANDBOX_UNAVAILABLE' });
  });

  test('no process is left', () => {
    expect(reports.map(({ left }) => left)).toEqual([0, 0]);
  });
});
