import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runBuilt } from './support/built-volley.ts';
import { project } from './support/project.ts';

it('compiled code is kept for the next start, and neither damaged nor foreign code is used', async () => {
  const home = project();
  const folder = join(home, 'volley/code-cache');
  const start = async (...args: string[]) => {
    const { status, stderr } = await runBuilt(home, args, { env: { XDG_CONFIG_HOME: home } });
    return { status, stderr };
  };
  const works = { status: 0, stderr: '' };
  expect(await start('--version')).toEqual(works);
  const [name] = readdirSync(folder);
  const file = join(folder, name!);
  const written = statSync(file);
  expect(written.mode & 0o777).toBe(0o600);

  expect(await start('--version')).toEqual(works);
  expect(statSync(file).ino).toBe(written.ino);

  const damaged = readFileSync(file).fill(0xff, 1000, 1500);
  writeFileSync(file, damaged);
  expect(await start('--version')).toEqual(works);
  expect(readFileSync(file).equals(damaged)).toBe(false);
  expect(readdirSync(folder)).toEqual([name]);

  // Anybody can write there, so nothing is read or kept.
  writeFileSync(file, damaged);
  chmodSync(folder, 0o777);
  expect(await start('--version')).toEqual(works);
  expect(readFileSync(file).equals(damaged)).toBe(true);

  // A command that was not understood says nothing about what the next one needs.
  chmodSync(folder, 0o700);
  expect((await start('nonsense')).status).toBe(2);
  expect(readdirSync(folder)).toEqual([name]);
});
