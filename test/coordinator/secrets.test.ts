import { describe, expect, it, onTestFinished } from 'vitest';
import { defaultConfig } from '../../src/config/default-config.ts';
import { ParallelToolCoordinator } from '../../src/coordinator/coordinator.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Isolation } from '../../src/tools/tool.ts';

const NAME = 'VOLLEY_TEST_TOKEN';
const SECRET = 'correct-horse-battery-staple';

/** Everything of a list of calls that could leave the process. */
async function leakedBy(isolation: Isolation): Promise<string> {
  process.env[NAME] = SECRET;
  const coordinator = new ParallelToolCoordinator({ config: defaultConfig() });
  onTestFinished(async () => {
    await coordinator.close();
    delete process.env[NAME];
  });
  coordinator.register(
    defineTool({
      name: 'careless',
      isolation,
      env: [NAME],
      retry: { maxRetries: 1, delayMs: 0 },
      run: (_, { report }) => {
        const { VOLLEY_TEST_TOKEN: secret } = process.env;
        const token = `ghp_${'a1'.repeat(18)}`;
        report(`using ${secret}`);
        report(0.5, `password=${secret}`);
        throw Object.assign(new Error(`refused ${secret} and ${token} ${'x'.repeat(5000)}`), {
          code: `E_${secret}`,
          name: `Error of ${secret}`,
          headers: { authorization: secret },
        });
      },
    }),
  );
  const updates = coordinator.engine.progress.subscribe({ after: 0 });
  const results = await coordinator.executeParallel([{ id: 'a', name: 'careless' }]);
  await coordinator.close();
  const seen: unknown[] = [...results];
  for await (const update of updates) seen.push(update);
  return JSON.stringify(seen);
}

describe('what leaves the process', () => {
  it.each<Isolation>(['inline', 'thread', 'process'])(
    'holds no secret of a tool that runs %s, in steps, errors and events',
    async (isolation) => {
      const leaked = await leakedBy(isolation);
      expect(leaked).toContain('using [redacted]');
      expect(leaked).toContain('refused [redacted] and [redacted]');
      expect(leaked).not.toContain(SECRET);
      expect(leaked).not.toContain('ghp_');
      expect(leaked).not.toContain('x'.repeat(2100));
    },
  );
});
