import vm from 'node:vm';
import { expect, it } from 'vitest';
import { scriptOfModule } from '../../src/cli/script-of-module.ts';

type Wrapper = (
  load: (name: string) => unknown,
  importModule: (name: string) => unknown,
  url: string,
) => Record<string, unknown>;

it('makes a script that does what the module does, with each line where it was', () => {
  const code = [
    'import"./first.js";',
    'import{n as taken,$ as $1,other}from"./second.js";',
    'const late=()=>import("./late.js");',
    'const text="not import\\(this) and not import\\.meta.url";',
    'function place(){',
    'return new Error("here").stack}',
    'export{place,late as load,text as default,taken as t,$1 as $};\n',
  ].join('\n');
  const loaded: string[] = [];
  const load = (name: string) => {
    loaded.push(name);
    return { n: 1, $: 2, other: 3 };
  };
  const wrapper = vm.runInThisContext(scriptOfModule(code), { filename: 'module.js' }) as Wrapper;
  const exports = wrapper(load, (name) => `imported ${name}`, 'file:///module.js');
  expect(loaded).toEqual(['./first.js', './second.js']);
  expect(exports).toMatchObject({ default: 'not import(this) and not import.meta.url', t: 1, $: 2 });
  expect((exports['load'] as () => unknown)()).toBe('imported ./late.js');
  expect((exports['place'] as () => string)()).toContain('module.js:6:');
});

it('gives a module its own address, and one without exports none', () => {
  const script = scriptOfModule('const url=import.meta.url;\nif(url!=="file:///module.js")throw url;\n');
  const wrapper = vm.runInThisContext(script) as Wrapper;
  expect(
    wrapper(
      () => ({}),
      () => ({}),
      'file:///module.js',
    ),
  ).toEqual({});
});

it('passes on what a module only exports of another', () => {
  const script = scriptOfModule('export{l as first,u,l as again}from"../chunks/one.js";\n');
  const wrapper = vm.runInThisContext(script) as Wrapper;
  const load = (name: string) => (name === '../chunks/one.js' ? { l: 1, u: 2 } : {});
  expect(wrapper(load, () => ({}), '')).toEqual({ first: 1, u: 2, again: 1 });
});
