import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Outcome } from '../../../../src/index.ts';
import { findCgroupMounts } from '../../../../src/runners/process/cgroup.ts';
import type { Diagnosis } from '../../../../src/runners/process/diagnose.ts';
import { importBuilt } from '../../support/built.ts';
import { processesWith } from '../../support/processes.ts';
import { drillCall } from './calls.ts';

/** What a drill found. Everything but the layers and the figures should be empty. */
export interface DrillReport {
  readonly calls: number;
  readonly seconds: number;
  /** By how much this process grew at most. */
  readonly grownMb: number;
  readonly surprises: readonly string[];
  readonly processes: readonly number[];
  readonly files: readonly string[];
  readonly cgroups: readonly string[];
  readonly layers: Diagnosis['layers'];
}

const CONCURRENCY = 16;
const MAX_PATIENCE_MS = 30_000;
const TOOLS = new URL('../../fixtures/behaviours.mjs', import.meta.url).href;

/** Runs many calls at once of which a quarter goes wrong in every way, and looks at what remains. */
export async function drill(calls: number): Promise<DrillReport> {
  const { ParallelExecutionEngine, ProcessRunner, createLauncher } = await importBuilt();
  const mark = `volley-drill-${process.pid}-end`;
  // A place that nobody else uses: everything that is in it afterwards was left behind.
  const temporary = mkdtempSync(join(tmpdir(), 'drill-'));
  process.env['TMPDIR'] = temporary;
  const launcher = createLauncher();
  const runner = new ProcessRunner({ launcher });
  const engine = new ParallelExecutionEngine({ maxConcurrency: CONCURRENCY, graceMs: 30_000 });
  const { layers } = await runner.diagnose();
  const startBytes = process.memoryUsage.rss();
  let maxBytes = startBytes;
  const watch = setInterval(() => {
    maxBytes = Math.max(maxBytes, process.memoryUsage.rss());
  }, 20);
  const startMs = performance.now();
  const outcomes = await Promise.all(
    Array.from({ length: calls }, (_, index) => {
      const { tool, input, limits = {}, timeoutMs } = drillCall(index);
      return engine
        .submit({ toolName: tool, ...(timeoutMs !== undefined && { timeoutMs }) }, (task) =>
          runner.run(
            {
              toolName: tool,
              code: { kind: 'module', url: TOOLS, exportName: tool },
              input: { mark, ...input },
              limits,
              // Some without a sandbox: their temporary files lie where everybody's do.
              sandbox: { mode: index % 5 === 0 ? 'off' : 'required', read: [], write: [], network: false },
              env: { VOLLEY_MARK: mark },
            },
            task,
          ),
        )
        .outcome();
    }),
  );
  const seconds = (performance.now() - startMs) / 1000;
  clearInterval(watch);
  const surprises = outcomes.flatMap((outcome, index) => {
    const { tool, expected } = drillCall(index);
    const found = describe(outcome);
    return found === expected
      ? []
      : [`${index} ${tool}: ${found} instead of ${expected}: ${detail(outcome)}`];
  });
  // On a busy machine those that were killed take their time to go.
  const patientUntil = performance.now() + MAX_PATIENCE_MS;
  let processes = processesWith(mark);
  while (processes.length > 0 && performance.now() < patientUntil) {
    await sleep(20);
    processes = processesWith(mark);
  }
  await engine.close();
  await runner.close();
  await launcher.close();
  const files = readdirSync(temporary);
  rmSync(temporary, { recursive: true });
  return {
    calls,
    seconds,
    grownMb: (maxBytes - startBytes) / 2 ** 20,
    surprises,
    processes,
    files,
    cgroups: ownCgroups(),
    layers,
  };
}

function describe(outcome: Outcome): string {
  if (outcome.status === 'completed') return `completed ${JSON.stringify(outcome.value)}`;
  if (outcome.status !== 'failed') return outcome.status;
  const { code } = outcome.error as { code?: string };
  return outcome.reason === 'error' ? `error ${code}` : outcome.reason;
}

function detail(outcome: Outcome): string {
  return outcome.status === 'failed' ? String((outcome.error as Error).message) : '';
}

function ownCgroups(): string[] {
  return findCgroupMounts().flatMap(({ ownFolder }) =>
    readdirSync(ownFolder).filter((name) => new RegExp(`^volley-\\d+-${process.pid}-`).test(name)),
  );
}

// Started as a program: the number of calls is its argument, and the report is what it prints.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.log(JSON.stringify(await drill(Number(process.argv[2] ?? 200)), undefined, 2));
}
