const IMPORT = /import ?(?:\{([^}]*)\} ?from ?)?("[^"]+");\n/y;
const DYNAMIC = /import(?:\(|(\.meta\.url))/g;
const EXPORT = 'export{';
const EXPORTED_FROM = /^ ?from ?("[^"]+");?\s*$/;

/**
 * Makes a script of a bundled module, whose value is a function. It takes what loads another module, and what
 * `import()` and `import.meta.url` are in this one, and returns the exports. Lines stay where they are.
 * `scripts/bundle.ts` sees to it that each module of the command line starts with its imports, ends with its exports
 * (or those of one other module), and says `import(` and `import.meta.url` nowhere else.
 */
export function scriptOfModule(code: string): string {
  let head = '';
  IMPORT.lastIndex = 0;
  let start = 0;
  for (let found = IMPORT.exec(code); found !== null; found = IMPORT.exec(code)) {
    const [, names, from] = found;
    const target = names === undefined ? '' : `const{${names.replaceAll(' as ', ':')}}=`;
    head += `${target}__load(${from});\n`;
    start = IMPORT.lastIndex;
  }
  const end = code.lastIndexOf(EXPORT);
  const names = end < start ? '' : code.slice(end + EXPORT.length, code.lastIndexOf('}'));
  const body = (end < start ? code.slice(start) : code.slice(start, end)).replace(
    DYNAMIC,
    (_, isUrl: string | undefined) => (isUrl === undefined ? '__import(' : '__url'),
  );
  const from = end < start ? undefined : EXPORTED_FROM.exec(code.slice(code.lastIndexOf('}') + 1))?.[1];
  if (from !== undefined) {
    const locals = new Set(names.split(',').map((name) => name.trim().split(' as ')[0]!));
    head += `const{${[...locals].join()}}=__load(${from});`;
  }
  const result = names.replace(/([\w$]+) as ([\w$]+)/g, '$2:$1');
  return `(function(__load,__import,__url){"use strict";${head}${body}\nreturn{${result}}})`;
}
