import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { configurationPage, configurationSchema } from '../../scripts/generate-configuration.ts';
import { loadConfig } from '../../src/config/load.ts';
import { tablesOf } from '../../src/config/outline.ts';
import { folderWith } from './support/folder.ts';

const read = (name: string) =>
  readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8').replaceAll('\r\n', '\n');
const keys = tablesOf().flatMap((table) => table.keys);

describe('a generated file is up to date', () => {
  it('docs/configuration.md: if this fails, run npx tsx scripts/generate-configuration.ts', () => {
    expect(read('configuration.md')).toBe(configurationPage());
  });

  it('docs/volley.schema.json: if this fails, run npx tsx scripts/generate-configuration.ts', () => {
    expect(read('volley.schema.json')).toBe(configurationSchema());
  });
});

describe('docs/configuration.md', () => {
  it('has for every key a description, a type, a default and a variable', () => {
    const sections = read('configuration.md').split('\n### ').slice(1);
    expect(sections).toHaveLength(keys.length);
    for (const [index, section] of sections.entries()) {
      const { path, node, variable } = keys[index]!;
      expect(node.description, path.join('.')).toMatch(/\.$/);
      const [heading, , description] = section.split('\n');
      expect([heading, description]).toEqual([path.join('.').replaceAll('*', 'NAME'), node.description]);
      expect(section).toMatch(/\n- Type: .+\n- Default: .+\n/);
      // Two names that the user chose could not be told apart.
      const isTold = path.indexOf('*') === path.lastIndexOf('*');
      expect(section).toContain(isTold ? `- Variable: \`${variable}\`` : '- Variable: none');
    }
  });

  it('says nothing that depends on the machine', () => {
    const machine = keys.filter(({ path }) =>
      /^(limits\.(cpu|memory_mb)|threads\.max)$/.test(path.join('.')),
    );
    expect(machine.map(({ node }) => node.defaultText)).toEqual([
      'the number of cores of this machine',
      'the memory of this machine',
      'the number of cores of this machine',
    ]);
    expect(read('volley.schema.json')).not.toContain('defaultText');
  });

  it('begins with an example that is valid', async () => {
    const example = /```toml\n([\s\S]*?)```/.exec(read('configuration.md'))![1]!;
    const { config } = await loadConfig({ cwd: folderWith({ 'volley.toml': example }), env: {} });
    expect(config.limits).toMatchObject({
      maxConcurrency: 16,
      tools: { http_request: { maxConcurrency: 4, rate: { count: 10, perMs: 1000 } } },
    });
  });
});

describe('docs/volley.schema.json', () => {
  const isValid = new Ajv().compile(JSON.parse(read('volley.schema.json')));

  it('accepts the example', () => {
    expect(isValid(parse(read('volley.example.toml')))).toBe(true);
  });

  it.each([
    '[limits]\ncpus = 1',
    '[threads]\nmax = 0',
    '[defaults]\npriority = "urgent"',
    '[limits.tools."a b"]',
  ])('refuses %j', (text) => expect(isValid(parse(text))).toBe(false));
});
