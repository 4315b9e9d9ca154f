import { VolleyError } from '../../../core/errors.ts';
import { listText } from '../../../core/words.ts';
import type { Feature } from '../../../tasks/files/feature.ts';
import { effectiveStatus } from '../../../tasks/files/readiness.ts';
import { findSubtask } from '../../../tasks/files/subtask-reference.ts';
import type { TaskFolder } from '../../../tasks/files/task-folder.ts';
import {
  readTranscript,
  transcribedAttempts,
  transcriptPath,
  transcriptText,
} from '../../../tasks/run/transcript.ts';
import { EXIT, type ExitStatus, type Io } from '../../output/io.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { numberOption } from '../../program/options.ts';
import { onStopSignals } from '../../program/stop-signals.ts';
import { FEATURE_ARGUMENT, openFolder, SEQ_ARGUMENT } from './support.ts';

interface LogsOptions extends CommonOptions {
  readonly attempt?: number;
  readonly follow?: boolean;
}

export const subtaskLogsCommand = defineCommand<LogsOptions>({
  examples: [
    'volley tasks logs auth-system 02',
    'volley tasks logs auth-system 02 --attempt 1',
    'volley tasks logs auth-system 02 -f',
  ],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument(...SEQ_ARGUMENT)
      .option('--attempt <number>', 'the attempt, counted over all runs (default: the last)', numberOption)
      .option('-f, --follow', 'follow the output until the attempt ends'),
  run: async ([name, reference], options, io) => {
    const folder = openFolder(io);
    const feature = await folder.read(name!);
    const { seq } = findSubtask(feature, reference!);
    return show(folder, feature, seq, options, io);
  },
});

export const attachCommand = defineCommand({
  examples: ['volley tasks attach auth-system 02', 'volley tasks attach auth-system'],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument('[seq]', 'the number of the subtask (default: the one that is running)'),
  run: async ([name, reference], options, io) => {
    const folder = openFolder(io);
    const feature = await folder.read(name!);
    const { seq } = reference === undefined ? onlyRunning(folder, feature) : findSubtask(feature, reference);
    return show(folder, feature, seq, { ...options, follow: true }, io);
  },
});

function onlyRunning(folder: TaskFolder, { name, subtasks }: Feature) {
  const moment = folder.moment();
  const running = subtasks.filter(
    (one) => one.claim?.process !== undefined && effectiveStatus(one, moment) === 'in_progress',
  );
  const [only, ...others] = running;
  if (only !== undefined && others.length === 0) return only;
  const seqs = running.map(({ seq }) => seq);
  const what =
    only === undefined
      ? 'No agent is working on it now.'
      : `Agents are working on ${listText(seqs)}. Choose one.`;
  throw new VolleyError('INVALID_VALUE', `Cannot attach to ${name}: ${what}`, {
    feature: name,
    running: seqs,
  });
}

async function show(
  folder: TaskFolder,
  { name }: Feature,
  seq: string,
  { attempt, follow = false, json = false }: LogsOptions,
  io: Io,
): Promise<ExitStatus> {
  const known = transcribedAttempts(folder.project, name, seq);
  const number = attempt ?? known.at(-1);
  if (number === undefined || !known.includes(number)) throw noTranscript(name, seq, attempt, known);
  const controller = new AbortController();
  const unlisten = follow ? onStopSignals(() => controller.abort()) : () => undefined;
  try {
    const options = { follow, signal: controller.signal };
    for await (const line of readTranscript(folder.project, transcriptPath(name, seq, number), options)) {
      if (json) io.stdout.writeJson(line);
      else io.stdout.write(`${transcriptText(line)}\n`);
    }
  } finally {
    unlisten();
  }
  return controller.signal.aborted ? EXIT.interrupted : EXIT.ok;
}

function noTranscript(
  feature: string,
  seq: string,
  attempt: number | undefined,
  known: readonly number[],
): VolleyError {
  const what =
    attempt === undefined ? 'No agent has worked on it yet' : `There is no transcript of attempt ${attempt}`;
  const hint = known.length === 0 ? '' : ` Attempts with one: ${listText(known.map(String))}.`;
  return new VolleyError('INVALID_VALUE', `Subtask ${seq} of ${feature}: ${what}.${hint}`, {
    feature,
    seq,
    attempts: known,
  });
}
