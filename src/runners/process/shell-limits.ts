import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { LaunchRequest, ProcessLimits } from './launcher.ts';

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * The same request, run by a shell that sets the limits and enters the cgroups before it becomes the program. The shell
 * could not tell a missing program from a failed one, so those are checked first: see {@link startProblem}.
 */
export function withShellLimits(request: LaunchRequest): LaunchRequest {
  const script = [...cgroupLines(request.cgroups), ...limitLines(request.limits)].join('\n');
  if (script === '' || startProblem(request) !== undefined) return request;
  const argv = ['/bin/sh', '-c', `${script}\nexec "$@"`, 'sh', ...request.argv] as const;
  return { ...request, argv, limits: {}, cgroups: [] };
}

/** Why a program cannot be started, judging by the request alone: the kernel would truncate a string with a NUL. */
export function requestProblem({ argv, cwd, env }: LaunchRequest): string | undefined {
  const texts = [cwd, ...argv, ...Object.keys(env), ...Object.values(env)];
  return texts.some((text) => text.includes('\0'))
    ? 'its command, arguments or environment contain a NUL character'
    : undefined;
}

/** Why a program cannot be started, judging by its files. */
export function startProblem({
  argv,
  cwd,
  env,
}: Pick<LaunchRequest, 'argv' | 'cwd' | 'env'>): string | undefined {
  try {
    if (!statSync(cwd).isDirectory())
      return `the folder ${cwd} cannot be used as the working directory: it is not a folder`;
    accessSync(cwd, constants.X_OK);
  } catch (error) {
    return `the folder ${cwd} cannot be used as the working directory: ${(error as Error).message}`;
  }
  const [program] = argv;
  const { PATH = DEFAULT_PATH } = env;
  const folders = program.includes('/') ? [''] : PATH.split(delimiter);
  let problem = `${program}: no such program in PATH`;
  for (const folder of folders) {
    const file = resolve(cwd, join(folder, program));
    try {
      accessSync(file, constants.X_OK);
      if (statSync(file).isFile()) return undefined;
      problem = `${program}: it is not a file`;
    } catch (error) {
      if (folder === '' || (error as NodeJS.ErrnoException).code === 'EACCES') {
        problem = `${program}: ${(error as Error).message}`;
      }
    }
  }
  return problem;
}

/** A limit that cannot be set is already stricter. */
function limitLines({ cpuSeconds, openFiles, processes, dataBytes, fileBytes }: ProcessLimits): string[] {
  const lines: string[] = [];
  // The soft limit sends SIGXCPU, which ends most programs; the hard limit kills.
  if (cpuSeconds !== undefined) lines.push(`ulimit -S -t ${cpuSeconds}`, `ulimit -H -t ${cpuSeconds + 1}`);
  if (openFiles !== undefined) lines.push(`ulimit -n ${openFiles}`);
  // Shells disagree on the letter.
  if (processes !== undefined) lines.push(`ulimit -u ${processes} || ulimit -p ${processes}`);
  if (dataBytes !== undefined) lines.push(`ulimit -d ${Math.ceil(dataBytes / 1024)}`);
  if (fileBytes !== undefined) lines.push(`ulimit -f ${Math.ceil(fileBytes / 512)}`);
  if (lines.length === 0) return [];
  return ['{', 'ulimit -c 0', ...lines, '} 2>/dev/null'];
}

function cgroupLines(cgroups: readonly string[]): string[] {
  return cgroups.map((file) => `echo $$ > ${quoted(file)} || exit 126`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
