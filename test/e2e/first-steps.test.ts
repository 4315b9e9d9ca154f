import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { pages } from '../docs/markdown.ts';
import { buildProgram } from './support/built-program.ts';
import { project } from './support/project.ts';

const SAMPLE = 'examples/docs/hello.mjs';
const blocks = pages().find(({ path }) => path === 'README.md')!.codeBlocks;
const blockWith = (option: string) => blocks.find(({ options }) => options.get(option) === SAMPLE)!.text;

/** The commands of the README that follow the installation, which needs a registry. */
const commands = blocks
  .find(({ language, text }) => language === 'sh' && text.includes('volley init'))!
  .text.trimEnd()
  .split('\n')
  .map((line) => line.replace(/\s+#.*/, ''))
  .filter((line) => !line.startsWith('npm '));

describe('the first steps of the README', () => {
  it('lead from an empty folder to a program that prints what is told', async () => {
    const folder = project({ 'package.json': '{ "name": "hello", "type": "commonjs" }' });
    await (await buildProgram()).install(folder);
    writeFileSync(join(folder, 'hello.mjs'), blockWith('file'));
    const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined };
    const printed: string[] = [];
    for (const command of commands) {
      const [program = '', ...args] = command.split(' ');
      printed.push((await promisify(execFile)(program, args, { cwd: folder, env })).stdout);
    }
    expect(commands).toHaveLength(3);
    expect(printed[0]).toContain('Wrote volley.toml and volley-example.json');
    expect(printed[0]).toContain('Try: npx volley run volley-example.json');
    expect(printed[1]).toContain('all 3 tasks completed');
    expect(printed[1]).toContain('  npx volley results --batch volley-example ');
    expect(readFileSync(join(folder, 'volley-example.txt'), 'utf8')).toMatch(/^volley\.toml has \d+ bytes$/m);
    expect(readFileSync(join(folder, 'volley.toml'), 'utf8')).toMatch(
      /^#:schema \.\/node_modules\/volley\/docs\/volley\.schema\.json$/m,
    );
    expect(printed[2]).toBe(blockWith('output'));
  }, 300_000);
});
