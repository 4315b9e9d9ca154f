import { describe, expect, it, onTestFinished } from 'vitest';
import { defaultConfig } from '../../src/config/config.ts';
import { ParallelToolCoordinator } from '../../src/coordinator/coordinator.ts';
import { Redactor } from '../../src/coordinator/redactor.ts';
import { ReportedError, toCallError } from '../../src/coordinator/reported-error.ts';
import { reasonText } from '../../src/core/words.ts';
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

/** Aborts a call that runs, and gives everything that could leave the process. */
async function leakedByAbort(reason: unknown): Promise<string> {
  const coordinator = new ParallelToolCoordinator({ config: defaultConfig() });
  onTestFinished(() => coordinator.close());
  const caller = new AbortController();
  coordinator.register(
    defineTool({
      name: 'patient',
      run: (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true });
          caller.abort(reason);
        }),
    }),
  );
  const updates = coordinator.engine.progress.subscribe({ after: 0 });
  const results = await coordinator.executeParallel([{ id: 'a', name: 'patient' }], {
    signal: caller.signal,
  });
  await coordinator.close();
  const seen: unknown[] = [...results];
  for await (const update of updates) seen.push(update);
  return JSON.stringify(seen);
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const ODD: [what: string, thrown: unknown][] = [
  ['an object without a prototype', Object.create(null)],
  ['an object that throws when it is written', { toString: refuse, toJSON: refuse }],
  ['a revoked proxy', revoked()],
  ['a symbol', Symbol('odd')],
  ['an error without a message', Object.assign(new Error(), { message: undefined })],
  ['an error whose message is no text', Object.assign(new Error(), { message: { a: 1 }, name: 5 })],
  ['an error whose message cannot be read', Object.defineProperty(new Error(), 'message', { get: refuse })],
  ['an error whose message cannot be written', Object.assign(new Error(), { message: Object.create(null) })],
];

function refuse(): never {
  throw new Error('refused');
}

describe('the reason for which a caller aborts', () => {
  it('is shown without secrets, in results and events', async () => {
    const leaked = await leakedByAbort(new Error('password=hunter2 expired'));
    expect(leaked).toContain('password=[redacted] expired');
    expect(leaked).not.toContain('hunter2');
  });

  it.each(ODD)('may be %s', async (_, reason) => {
    expect(reasonText(reason)).toMatch(/./);
    expect(await leakedByAbort(reason)).toContain('cancelled');
  });
});

describe('what a tool throws', () => {
  const redactor = new Redactor({ names: ['*PASSWORD*'], maxTextLength: 200, env: {} });

  it.each(ODD)('may be %s', (_, thrown) => {
    const { name, message } = toCallError(thrown, redactor);
    expect(name).toBe('Error');
    expect(message).toMatch(/^(?!Cannot read)./);
    expect(new ReportedError(thrown, redactor).retryable).toBe(true);
  });

  it('is told with its message even if that is data', () => {
    const thrown = Object.assign(new Error(), { message: { password: 'hunter2', size: 1 } });
    expect(toCallError(thrown, redactor).message).toBe('{"password":[redacted],"size":1}');
  });
});

describe('a secret that is replaced while a tool runs', () => {
  it('is shown neither by its old nor by its new value', async () => {
    const coordinator = new ParallelToolCoordinator({ config: defaultConfig() });
    onTestFinished(async () => {
      await coordinator.close();
      delete process.env[NAME];
    });
    process.env[NAME] = 'value-at-the-start';
    coordinator.register(
      defineTool({
        name: 'rotating',
        env: [NAME],
        run: () => {
          const old = process.env[NAME];
          process.env[NAME] = 'value-afterwards';
          throw new Error(`neither ${old} nor ${process.env[NAME]}`);
        },
      }),
    );
    const result = await coordinator.executeSingle({ id: 'a', name: 'rotating' });
    expect(result).toMatchObject({ error: { message: 'neither [redacted] nor [redacted]' } });
  });
});
