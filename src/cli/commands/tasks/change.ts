import { relative } from 'node:path';
import { VolleyError } from '../../../core/errors.ts';
import { spanText } from '../../../core/words.ts';
import type { Feature, Subtask } from '../../../tasks/files/feature.ts';
import { subtaskView } from '../../../tasks/files/feature-text.ts';
import type { Moment } from '../../../tasks/files/readiness.ts';
import { withRunLock } from '../../../tasks/files/run-lock.ts';
import {
  archiveFields,
  blockSubtask,
  claimSubtask,
  releaseSubtask,
  type TaskFileChange,
  unblockSubtask,
} from '../../../tasks/files/subtask-changes.ts';
import { findSubtask } from '../../../tasks/files/subtask-reference.ts';
import { askRun, isAgentOfRun, refuseForAgents } from '../../../tasks/run/mailbox.ts';
import type { ExitStatus, Io } from '../../output/io.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { numberOption } from '../../program/options.ts';
import { FEATURE_ARGUMENT, openFolder, SEQ_ARGUMENT, say } from './support.ts';

interface ClaimOptions extends CommonOptions {
  readonly agent: string;
  readonly lease: number;
}

interface ReleaseOptions extends CommonOptions {
  readonly agent?: string;
}

interface ArchiveOptions extends CommonOptions {
  readonly force?: boolean;
}

const DEFAULT_LEASE_SECONDS = 1800;
const MAX_LEASE_SECONDS = 7 * 24 * 60 * 60;

export const claimCommand = defineCommand<ClaimOptions>({
  examples: [
    'volley tasks claim auth-system 04 --agent coder-1',
    'volley tasks claim auth-system 04 --agent coder-1 --lease 600',
  ],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument(...SEQ_ARGUMENT)
      .requiredOption('--agent <name>', 'who claims it')
      .option('--lease <seconds>', 'how long the claim lasts', numberOption, DEFAULT_LEASE_SECONDS),
  run: async ([name, seq], options, io) => {
    const { agent, lease } = options;
    if (!(lease > 0 && lease <= MAX_LEASE_SECONDS))
      throw new VolleyError('INVALID_VALUE', `--lease must be between 1 and ${MAX_LEASE_SECONDS} seconds.`);
    refuseForAgents(io.env, 'claim subtasks');
    const request = { seq: seq!, agent, leaseMs: lease * 1000 };
    return change(name!, seq!, options, io, {
      decide: (now, moment) => claimSubtask(now, request, moment),
      text: (subtask) => `${agent} has claimed ${subtask} for ${spanText(lease * 1000)}.`,
    });
  },
});

export const releaseCommand = defineCommand<ReleaseOptions>({
  examples: ['volley tasks release auth-system 04', 'volley tasks release auth-system 04 --agent coder-1'],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument(...SEQ_ARGUMENT)
      .option('--agent <name>', 'release it only if this agent has claimed it'),
  run: async ([name, seq], options, io) => {
    refuseForAgents(io.env, 'release subtasks');
    return change(name!, seq!, options, io, {
      decide: (now) => releaseSubtask(now, { seq: seq!, agent: options.agent }),
      text: (subtask) => `Released ${subtask}.`,
    });
  },
});

export const blockCommand = defineCommand({
  examples: ['volley tasks block auth-system 04 "waiting for the new API key"'],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument(...SEQ_ARGUMENT)
      .argument('<reason>', 'why'),
  run: async ([name, seq, reason], options, io) => {
    const request = { seq: seq!, reason: reason! };
    if (isAgentOfRun(io.env)) {
      const { data, text } = await askRun(io.env, { action: 'block', feature: name!, ...request });
      return say(io, options, data, text);
    }
    return change(name!, seq!, options, io, {
      decide: (now) => blockSubtask(now, request),
      text: (subtask) => `Blocked ${subtask}.`,
    });
  },
});

export const unblockCommand = defineCommand({
  examples: ['volley tasks unblock auth-system 04'],
  declare: (program) => program.argument(...FEATURE_ARGUMENT).argument(...SEQ_ARGUMENT),
  run: async ([name, seq], options, io) => {
    refuseForAgents(io.env, 'unblock subtasks');
    return change(name!, seq!, options, io, {
      decide: (now) => unblockSubtask(now, { seq: seq! }),
      text: (subtask) => `Unblocked ${subtask}.`,
    });
  },
});

/** Changes a subtask and prints it. */
async function change(
  name: string,
  seq: string,
  options: CommonOptions,
  io: Io,
  {
    decide,
    text,
  }: { decide: (now: Feature, moment: Moment) => TaskFileChange; text(subtask: string): string },
): Promise<ExitStatus> {
  const folder = openFolder(io);
  const feature = await folder.change(name, decide);
  const subtask: Subtask = findSubtask(feature, seq);
  const data = { feature: feature.name, subtask: subtaskView(subtask, folder.moment()) };
  return say(io, options, data, text(`${subtask.seq} of ${feature.name}`));
}

export const archiveCommand = defineCommand<ArchiveOptions>({
  examples: ['volley tasks archive auth-system'],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .option('--force', 'archive it even if some of its subtasks are open'),
  run: async ([name], options, io) => {
    refuseForAgents(io.env, 'archive features');
    const folder = openFolder(io);
    const { force = false } = options;
    await folder.read(name!);
    // A running feature must stay where its run can update it.
    const place = await withRunLock(folder, name!, () =>
      folder.archive(name!, (feature, { now }) => archiveFields(feature, now, force)),
    );
    const path = relative(folder.project, place);
    return say(io, options, { feature: name, path }, `Archived ${name} to ${path}.`);
  },
});
