import { VolleyError } from '../../core/errors.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import type { RunnerCall } from '../runner.ts';
import { type ConfinedEnd, signalled } from './confined-process.ts';

/** V8's message before it aborts a process that is out of memory. */
const OUT_OF_MEMORY = /heap out of memory|process out of memory|invalid size error|Allocation failed/;
const MAX_SHOWN_LENGTH = 1000;

/** Interprets a process that ended without an answer. */
export function failureOf(end: ConfinedEnd, call: RunnerCall, stderr: string): Error {
  const { toolName, limits } = call;
  const output = stderr.trim() === '' ? '' : `\n${lastLines(stderr)}`;
  if (end.startError !== undefined) return notStarted(toolName, end.startError);
  if (end.exitCode === 1 && stderr.startsWith('bwrap: ')) return notStarted(toolName, stderr.trim());
  if (end.limit === 'memory' || OUT_OF_MEMORY.test(stderr)) {
    return new ToolFailure(
      `The tool "${toolName}" needed more memory than its limit of ${limits.memoryMb} MB and was killed.`,
      { reason: 'memory', retryable: false },
    );
  }
  if (end.limit === 'cpu') {
    return new ToolFailure(
      `The tool "${toolName}" used more CPU time than its limit of ${limits.cpuMs} ms and was killed.`,
      { reason: 'cpu', retryable: false },
    );
  }
  if (end.limit === 'disk') {
    return new ToolFailure(
      `The tool "${toolName}" wrote more to disk than its limit of ${limits.diskMb} MB (\`disk_mb\`) and was killed.`,
      { reason: 'crashed', retryable: false },
    );
  }
  if (end.limit === 'processes') {
    return new ToolFailure(
      `The tool "${toolName}" started more than its limit of ${limits.processes} processes and was killed.`,
      { reason: 'crashed', retryable: false },
    );
  }
  const { exitCode, signal } = signalled(end);
  const how =
    signal === undefined
      ? `ended with exit status ${exitCode} before it returned a result`
      : `was killed by ${signal}`;
  return new ToolFailure(`The process of the tool "${toolName}" ${how}.${output}`, { reason: 'crashed' });
}

/** A failed allocation is an error that can be caught; it means the same. */
export function asMemoryFailure(error: unknown, { toolName, limits }: RunnerCall): unknown {
  if (!(error instanceof Error)) return error;
  const { message, code } = error as Error & { code?: unknown };
  const isMemory = message === 'Array buffer allocation failed' || code === 'ERR_MEMORY_ALLOCATION_FAILED';
  if (!isMemory) return error;
  return new ToolFailure(
    `The tool "${toolName}" needed more memory than its limit of ${limits.memoryMb} MB: ${message}`,
    { reason: 'memory', retryable: false, cause: error },
  );
}

function notStarted(toolName: string, why: string): VolleyError {
  return new VolleyError(
    'PROCESS_NOT_STARTED',
    `The process of the tool "${toolName}" could not be started: ${why}`,
    { toolName },
  );
}

function lastLines(text: string): string {
  const trimmed = text.trim();
  return trimmed.length > MAX_SHOWN_LENGTH ? `…${trimmed.slice(-MAX_SHOWN_LENGTH)}` : trimmed;
}
