import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A user with an old compiler, who has the declarations of libraries checked, can use ours. Needs `npm run build`. */
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const folder = join(ROOT, 'node_modules/.cache/volley-check-types');

rmSync(folder, { recursive: true, force: true });
mkdirSync(join(folder, 'node_modules'), { recursive: true });
symlinkSync(ROOT, join(folder, 'node_modules/volley'), 'junction');
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
writeFileSync(
  join(folder, 'program.ts'),
  ['volley', 'volley/engine', 'volley/server', 'volley/tools']
    .map((name, index) => `import * as part${index} from '${name}';\nvoid part${index};\n`)
    .join(''),
);
const options = ['--strict', '--noEmit', '--target', 'ES2022', '--module', 'NodeNext', '--types', 'node'];
const oldCompiler = join(ROOT, 'scripts/typescript-5.4');
run('npm', ['ci', '--silent'], oldCompiler);
const compiler = join(oldCompiler, 'node_modules/typescript/bin/tsc');
run(process.execPath, [compiler, ...options, 'program.ts'], folder);

function run(program: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(program, args, { cwd, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
