import { MAX_SPAN_MS } from '../../core/numbers.ts';
import { DEFAULTS } from '../defaults.ts';
import { choice, table, wholeNumber } from './kinds.ts';

const defaults = DEFAULTS.processes;
const MAX_BYTES = 2 ** 30;

export const processesSection = table(
  'Tools with `isolation: "process"`, and the tool `shell`. The limits hold for each call; a tool can set its own.',
  {
    sandbox: choice(['auto', 'required', 'off'], {
      does: '`auto` uses the layers of the sandbox that this system has, `required` refuses to run a process where one is missing (instead of cgroups a watch over the processes will do), `off` uses none.',
      default: defaults.sandbox,
    }),
    memory_mb: wholeNumber({
      does: 'The memory of a call, all its processes together. A call that needs more is ended.',
      default: defaults.memory_mb,
      min: 16,
      max: 1_000_000_000,
    }),
    cpu_ms: wholeNumber({
      does: 'The CPU time of a call.',
      default: defaults.cpu_ms,
      min: 1,
      max: MAX_SPAN_MS,
    }),
    open_files: wholeNumber({
      does: 'How many files a process may hold open.',
      default: defaults.open_files,
      min: 16,
      max: 1_048_576,
    }),
    processes: wholeNumber({
      does: 'How many processes a call may have at once. A call that has more is ended.',
      default: defaults.processes,
      min: 1,
      max: 1_000_000,
    }),
    disk_mb: wholeNumber({
      does: 'The largest file that a call may write, and the total that its processes may write to disk. A call that exceeds it is ended.',
      default: defaults.disk_mb,
      min: 1,
      max: 1_000_000_000,
    }),
    output_bytes: wholeNumber({
      does: 'How much a call may write to its output and error streams together. More ends it.',
      default: defaults.output_bytes,
      min: 1,
      max: MAX_BYTES,
    }),
    result_bytes: wholeNumber({
      does: 'The largest result that a call may give back.',
      default: defaults.result_bytes,
      min: 1,
      max: MAX_BYTES,
    }),
  },
);
