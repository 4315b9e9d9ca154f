import { register } from 'node:module';

const asModule = (text) => `data:text/javascript,${encodeURIComponent(text)}`;

const fileSystem = asModule(`
  import fs from 'node:fs';
  export * from 'node:fs';
  export default fs;
  export const globSync = () => { throw new Error('Node 20 has no fs.globSync'); };
`);

register(
  asModule(`
    export const resolve = (specifier, context, next) =>
      specifier === 'fs' ? { url: ${JSON.stringify(fileSystem)}, shortCircuit: true } : next(specifier, context);
  `),
);
