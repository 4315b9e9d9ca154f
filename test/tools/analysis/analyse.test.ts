import { describe, expect, test } from 'vitest';
import { KNOWN_EXTENSIONS, loadGrammar } from '../../../src/tools/analysis/languages.ts';
import { factsOf, functionsOf } from './support/sample.ts';

/** The complexity of a function around some statements. */
function complexityOf(name: string, body: string): number {
  const isPython = name.endsWith('.py');
  const source = isPython
    ? `def f():\n    ${body.replaceAll('\n', '\n    ')}\n`
    : `function f() {\n${body}\n}\n`;
  const facts = factsOf(name, source);
  expect(facts.topLevelDecisions, body).toBe(0);
  return facts.functions.first[0]!.complexity;
}

describe('cyclomatic complexity', () => {
  test.each([
    ['a.js', 'run();', 1],
    ['a.js', 'if (a) {} else {}', 2],
    ['a.js', 'if (a) {} else if (b) {} else {}', 3],
    ['a.js', 'for (;;) {} for (const x of y) {} for (const x in y) {} while (a) {} do {} while (b);', 6],
    ['a.js', 'switch (a) { case 1: case 2: break; default: }', 3],
    ['a.js', 'try {} catch {} finally {}', 2],
    ['a.js', 'return a ? b : c ? d : e;', 3],
    ['a.js', 'return a && b || (c ?? d);', 4],
    ['a.js', 'a &&= b; a ||= b; a ??= b; a += b;', 4],
    ['a.js', 'return !a?.b?.[c]?.(d | e & f);', 1],
    ['a.js', 'const { a = 1 } = b;', 1],
    ['a.js', 'return () => a && b;', 1],
    ['a.js', 'class A { m() { if (a) b(); } x = a ? b : c; }', 2],
    ['a.js', 'return "if (a && b)" + /a||b/.source; // if && ||', 1],
    ['a.ts', 'let a: A extends B ? C : D | E = (b as any)!;', 1],
    ['a.py', 'run()', 1],
    ['a.py', 'if a: pass\nelif b: pass\nelse: pass', 3],
    ['a.py', 'for a in b: pass\nelse: pass\nwhile a: pass\nelse: pass', 3],
    ['a.py', 'try: pass\nexcept A: pass\nexcept (B, C): pass\nelse: pass\nfinally: pass', 3],
    ['a.py', 'return a if b else c', 2],
    ['a.py', 'return a and b and c or not d', 4],
    ['a.py', 'return [a for a in b], {a for a in b if a}, (a for a in b for c in d if a if c)', 8],
    [
      'a.py',
      'match a:\n    case 1 | 2: pass\n    case [b] if b: pass\n    case b.c: pass\n    case _: pass',
      5,
    ],
    ['a.py', 'match a:\n    case 1: pass\n    case other: pass', 2],
    ['a.py', 'match a:\n    case _ if b: pass', 3],
    ['a.py', 'with a as b: assert c', 1],
    ['a.py', 'return lambda: a if b else c', 1],
    ['a.py', 'return "if a and b"  # if and or', 1],
  ])('%s: %s → %d', (name, body, complexity) => {
    expect(complexityOf(name, body)).toBe(complexity);
  });

  test('counts decisions in default values to the function, and those in a decorator to what is around', () => {
    const facts = factsOf('a.py', '@a(b or c)\ndef f(d=e or g): pass\n');
    expect(functionsOf(facts)).toEqual(['f 2-2 2 1']);
    expect(facts.topLevelDecisions).toBe(1);
  });
});

describe('names', () => {
  test.each([
    ['a.js', 'const a = 1, b = () => 2;', 'b'],
    ['a.js', 'let f; f = () => 1;', 'f'],
    ['a.js', 'a.b.c = () => 1;', 'a.b.c'],
    ['a.js', 'const f = function g() {};', 'g'],
    ['a.js', 'const { f = () => 1 } = a;', 'f'],
    ['a.js', '({ "a b": () => 1 })', 'a b'],
    ['a.js', '({ [a.b]: () => 1 })', '[a.b]'],
    ['a.js', '({ 1() {} })', '1'],
    ['a.js', 'class A { #p() {} }', 'A.#p'],
    ['a.js', 'class A { static async *"x y"() {} }', 'A.x y'],
    ['a.js', 'const A = class { m() {} }', 'A.m'],
    ['a.js', 'run(class extends B { m() {} })', '(anonymous).m'],
    ['a.js', 'run(() => 1)', '(anonymous)'],
    ['a.js', 'x ? y : () => 1', '(anonymous)'],
    ['a.js', 'export default function () {}', 'default'],
    ['a.ts', 'const f: (a: A) => B = (a) => b;', 'f'],
    ['a.ts', 'class A { f?: F = () => 1 }', 'A.f'],
    ['a.py', 'f: F = lambda: 1', 'f'],
    ['a.py', 'a = {"k": lambda: 1}', 'k'],
    ['a.py', 'sorted(a, key=lambda b: b)', 'key'],
    ['a.py', 'run(lambda: 1)', '(anonymous)'],
    ['a.py', 'class A:\n  class B:\n    def m(self): pass', 'A.B.m'],
  ])('%s: %s → %s', (name, source, expected) => {
    expect(factsOf(name, source).functions.first.map((f) => f.name)).toEqual([expected]);
  });

  test('are cut where nobody would read on', () => {
    const [f] = factsOf('a.js', `${'a.'.repeat(200)}b = () => 1;`).functions.first;
    expect(f!.name).toBe(`${'a.'.repeat(50)}…`);
  });
});

describe('line counts', () => {
  test.each([
    ['', { total: 0, code: 0, comment: 0, blank: 0 }],
    ['\n', { total: 1, code: 0, comment: 0, blank: 1 }],
    ['a', { total: 1, code: 1, comment: 0, blank: 0 }],
    ['a\rb\r\nc\n', { total: 3, code: 3, comment: 0, blank: 0 }],
    [' \t\u00a0\n// a\n\n', { total: 3, code: 0, comment: 1, blank: 2 }],
    ['/* a */ b /* c\n d */ // e\n/* f */ /* g */', { total: 3, code: 1, comment: 2, blank: 0 }],
    ['/* a\n*/ b', { total: 2, code: 1, comment: 1, blank: 0 }],
    ['const a = `\n// text\n\n`; // b', { total: 4, code: 3, comment: 0, blank: 1 }],
  ])('of %j', (source, lines) => {
    expect(factsOf('a.js', source).lines).toEqual(lines);
  });

  test('take a docstring for a comment, and no other text', () => {
    const source = '"""a"""\n"""b"""\ndef f():\n  # c\n  "d"\n  "e"\nif a:\n  "f"\nclass A: "g"\n';
    expect(factsOf('a.py', source).lines).toEqual({ total: 9, code: 6, comment: 3, blank: 0 });
  });
});

describe('mistakes', () => {
  test('are reported by line, and what stands around them is still found', () => {
    const facts = factsOf(
      'a.js',
      'function a() { if (x) }\nfunction b() { return 1; }\nlet = = ;\nfunction c(',
    );
    expect(facts.functions.first.map((f) => f.name)).toEqual(['a', 'b']);
    expect(facts.syntaxErrors.first).toEqual([1, 3, 4]);
  });

  test('in Python do not hide the functions after them', () => {
    const facts = factsOf('a.py', 'def a(:\n    pass\n\nx = = 1\n\ndef b():\n    return 1\n');
    expect(facts.functions.first.map((f) => f.name)).toContain('b');
    expect(facts.syntaxErrors.first).toEqual([1, 4]);
  });

  test.each([
    ['a.tsx', 'const a = <p>{/* comment */}</p>;'],
    ['a.jsx', 'const a = <p>{/* comment */}</p>;'],
    ['a.ts', 'let a!: string;'],
    ['a.ts', 'try {} catch (error: unknown) {}'],
    ['a.py', 'def f():\n    yield\n    a = (yield)\n'],
    ['a.py', 'a = [0., 1.]\n'],
  ])('are not seen in what is valid: %s: %s', (name, source) => {
    expect(factsOf(name, source).syntaxErrors.count).toBe(0);
  });

  test.each([
    ['a.ts', 'let a! = 1;'],
    ['a.ts', 'try {} catch (error + unknown) {}'],
    ['a.py', 'a = b.\n'],
    ['a.jsx', 'const a = <p>{</p>;'],
  ])('are seen in what looks nearly like it: %s: %s', (name, source) => {
    expect(factsOf(name, source).syntaxErrors.count).toBe(1);
  });
});

test('keeps the first entries of a long list, and counts all', () => {
  const source = Array.from({ length: 50 }, (_, n) => `import '${n}'; class A${n} { m() {} } = ;`).join('\n');
  const { functions, classes, imports, syntaxErrors, totalComplexity } = factsOf('a.js', source, 3);
  expect(functions).toMatchObject({ count: 50, first: [{ line: 1 }, { line: 2 }, { line: 3 }] });
  expect(classes).toMatchObject({ count: 50, first: [{ name: 'A0' }, { name: 'A1' }, { name: 'A2' }] });
  expect(imports).toMatchObject({ count: 50, first: [{ module: '0' }, { module: '1' }, { module: '2' }] });
  expect(syntaxErrors).toMatchObject({ count: 50, first: [1, 2, 3] });
  expect(totalComplexity).toBe(50);
});

test('knows a language by the extension, in any case', async () => {
  const languageOf = async (name: string) => (await loadGrammar(name))?.language;
  expect(await languageOf('/a/B.PY')).toBe('python');
  expect(await languageOf('a.d.ts')).toBe('typescript');
  const known = await Promise.all(KNOWN_EXTENSIONS.map((extension) => languageOf(`a${extension}`)));
  expect(known).not.toContain(undefined);
  for (const name of ['a.rb', 'py', '.py', 'Makefile', 'a.py.txt'])
    expect(await loadGrammar(name), name).toBe(undefined);
});
