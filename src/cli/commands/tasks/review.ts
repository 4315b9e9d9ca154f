import { VolleyError } from '../../../core/errors.ts';
import { printableText } from '../../../core/printable-text.ts';
import { shellQuote } from '../../../core/shell-quote.ts';
import { countText } from '../../../core/words.ts';
import type { Feature } from '../../../tasks/files/feature.ts';
import { subtaskLine, subtaskView } from '../../../tasks/files/feature-text.ts';
import { readySubtasks } from '../../../tasks/files/readiness.ts';
import { findSubtask } from '../../../tasks/files/subtask-reference.ts';
import type { TaskFolder } from '../../../tasks/files/task-folder.ts';
import { approveWork, type ReviewDiff, rejectWork, reviewDiff } from '../../../tasks/run/review.ts';
import { EXIT, type ExitStatus, type Io } from '../../output/io.ts';
import { reportError } from '../../output/messages.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { configOf, FEATURE_ARGUMENT, openFolder, SEQ_ARGUMENT, say } from './support.ts';

interface ReviewOptions extends CommonOptions {
  readonly commit?: string;
}

const SHORT_HASH = 12;
const COMMIT_OPTION = [
  '--commit <hash>',
  'only if this is still the commit that waits, as diff shows it',
] as const;

export const diffCommand = defineCommand({
  examples: ['volley tasks diff auth-system 02', 'volley tasks diff auth-system 02 --json'],
  declare: (program) => program.argument(...FEATURE_ARGUMENT).argument(...SEQ_ARGUMENT),
  run: async ([name, seq], options, io) => {
    const found = await reviewDiff(openFolder(io), name!, seq!);
    return say(io, options, { ...found }, diffText(found));
  },
});

function diffText({
  seq,
  title,
  agent,
  attempt,
  summary,
  commit,
  files,
  diff,
  truncated,
}: ReviewDiff): string {
  const lines = files.map(({ path, added, removed }) => {
    const size = added === null ? 'binary' : `+${added} -${removed}`;
    return `  ${path} (${size})`;
  });
  return printableText(
    [
      `${seq} - ${title}, by ${agent}, attempt ${attempt}, ${commit.slice(0, SHORT_HASH)}`,
      `  ${summary}`,
      '',
      `${countText(files.length, 'file')}:`,
      ...lines,
      '',
      diff.trimEnd(),
      ...(truncated ? ['', 'The rest is left out. See all of it with git diff.'] : []),
    ].join('\n'),
  );
}

export const approveCommand = defineCommand<ReviewOptions>({
  examples: [
    'volley tasks approve auth-system 02',
    'volley tasks approve auth-system 02 --commit 3f2a91c07b5e',
  ],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument(...SEQ_ARGUMENT)
      .option(...COMMIT_OPTION),
  run: async ([name, seq], options, io) => {
    const folder = openFolder(io);
    try {
      const { commit } = options;
      const config = await configOf(folder, options, io);
      const feature = await approveWork({ folder, config, env: io.env }, name!, { seq: seq!, commit });
      return reviewed(folder, feature, seq!, options, io, nextText);
    } catch (error) {
      if (!(error instanceof VolleyError && error.code === 'VERIFICATION_FAILED')) throw error;
      // Not a usage error.
      reportError(error, options, io);
      return EXIT.failed;
    }
  },
});

export const rejectCommand = defineCommand<ReviewOptions>({
  examples: ['volley tasks reject auth-system 02 "Salt the hashes"'],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument(...SEQ_ARGUMENT)
      .argument('<why>', 'what the next attempt must do')
      .option(...COMMIT_OPTION),
  run: async ([name, seq, why], options, io) => {
    const folder = openFolder(io);
    const { commit } = options;
    const feature = await rejectWork({ folder, env: io.env }, name!, { seq: seq!, why: why!, commit });
    return reviewed(folder, feature, seq!, options, io, () => 'The next attempt continues with its work.');
  },
});

function nextText(ready: readonly string[], feature: string): string {
  return ready.length === 0
    ? 'It is merged.'
    : `It is merged. Ready to start: ${ready.join(', ')}. Continue with: volley tasks run ${shellQuote(feature)} --review`;
}

function reviewed(
  folder: TaskFolder,
  feature: Feature,
  seq: string,
  options: CommonOptions,
  io: Io,
  note: (ready: readonly string[], feature: string) => string,
): ExitStatus {
  const subtask = findSubtask(feature, seq);
  const moment = folder.moment();
  const ready = readySubtasks(feature, moment).map((one) => one.seq);
  const data = { feature: feature.name, subtask: subtaskView(subtask, moment), ready };
  return say(io, options, data, `${subtaskLine(subtask)}\n  ${note(ready, feature.name)}`);
}
