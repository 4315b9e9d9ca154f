import { spawn } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { buildProgram } from '../e2e/support/built-program.ts';
import { endOf } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';

const built = await buildProgram();

/** Runs a program that uses the built library; what it prints is the answer. */
async function answerOf(
  program: string,
): Promise<{ status: number | null; answer: unknown; stderr: string }> {
  const source = `import { ParallelToolCoordinator } from '${built.moduleUrl('index.js')}';
const coordinator = new ParallelToolCoordinator();
const print = (value) => process.stdout.write(JSON.stringify(value));
const call = async (name) => (await coordinator.executeParallel([{ name }]))[0];
${program}
await coordinator.close({ cancel: true });
`;
  const folder = project({ 'program.mjs': source });
  const child = spawn(process.execPath, ['program.mjs'], { cwd: folder, stdio: 'pipe' });
  const { status, stdout, stderr } = await endOf(child);
  return { status, stderr, answer: stdout === '' ? undefined : JSON.parse(stdout) };
}

describe('a tool that is an instance of a class', () => {
  test.each([
    ['throws', 'reportProgress() { throw new Error("deaf"); }'],
    ['rejects', 'async reportProgress() { throw new Error("deaf"); }'],
  ])('completes although its reportProgress() %s, which is a warning', async (_, method) => {
    const { status, answer, stderr } = await answerOf(`
class Deaf {
  name = 'deaf';
  async execute(_, { report }) {
    report(0.5, 'half');
    report(0.7, 'more');
    await new Promise((resolve) => setTimeout(resolve, 10));
    return 'done';
  }
  ${method}
}
coordinator.register(new Deaf());
const { status, value } = await call('deaf');
print({ status, value });`);
    expect({ status, answer }).toEqual({ status: 0, answer: { status: 'completed', value: 'done' } });
    expect(stderr.match(/reportProgress\(\) of the tool deaf failed: deaf/g)).toHaveLength(1);
  });

  test.each(["isolation = 'process'", "isolation = 'thread'", "env = ['HOME']"])(
    'is refused with %s, which it cannot have',
    async (field) => {
      const { answer } = await answerOf(`
class Elsewhere {
  name = 'elsewhere';
  ${field};
  execute() {}
}
try {
  coordinator.register(new Elsewhere());
  print('registered');
} catch ({ code }) {
  print(code);
}`);
      expect(answer).toBe('INVALID_TOOL');
    },
  );

  test('has its limit in time, its retries and its other fields honoured', async () => {
    const { answer } = await answerOf(`
class Slow {
  name = 'slow';
  timeoutMs = 50;
  retry = { maxRetries: 0 };
  execute(_, { signal }) {
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  }
}
class Flaky {
  name = 'flaky';
  get readOnly() {
    return true;
  }
  retry = { maxRetries: 2, delayMs: 1 };
  outputSchema = { type: 'number' };
  tries = 0;
  execute() {
    if (++this.tries < 3) throw new Error('not yet');
    return this.tries;
  }
}
coordinator.register(new Slow(), new Flaky());
const [slow, flaky] = [await call('slow'), await call('flaky')];
const { readOnly, outputSchema } = coordinator.tools('flaky')[0];
print({ slow: slow.reason, flaky: flaky.value, readOnly, outputSchema });`);
    expect(answer).toEqual({
      slow: 'timeout',
      flaky: 3,
      readOnly: true,
      outputSchema: { type: 'number' },
    });
  });
});
