import { createLauncher, ProcessRunner } from '../../dist/internals.js';

/** A process runner whose calls do nothing. */
export async function openRunner(mode: 'required' | 'off') {
  const launcher = createLauncher();
  const runner = new ProcessRunner({ launcher });
  // The layers are tried now, not in the first call.
  await runner.diagnose();
  const { signal } = new AbortController();
  return {
    call: () =>
      runner.run(
        {
          toolName: 'nothing',
          code: { kind: 'source', text: '() => {}' },
          input: undefined,
          limits: {},
          sandbox: { mode, read: [], write: [], network: false },
          env: {},
        },
        { id: 'call', attempt: 1, signal, report: () => {}, began: () => {} },
      ),
    async close() {
      await runner.close();
      await launcher.close();
    },
  };
}
