import { relative } from 'node:path';
import { VolleyError } from '../../../core/errors.ts';
import { spanText } from '../../../core/words.ts';
import { subtaskView } from '../../../tasks/files/feature-text.ts';
import { withRunLock } from '../../../tasks/files/folder-lock.ts';
import {
  archiveFields,
  blockSubtask,
  claimSubtask,
  releaseSubtask,
  unblockSubtask,
} from '../../../tasks/files/subtask-changes.ts';
import { findSubtask } from '../../../tasks/files/subtask-reference.ts';
import { askRun, isAgentOfRun, refuseForAgents } from '../../../tasks/run/mailbox.ts';
import { type CommonOptions, defineCommand } from '../../command.ts';
import { numberOption } from '../../options.ts';
import { FEATURE_ARGUMENT, openFolder, SEQ_ARGUMENT, say } from './support.ts';

interface ClaimOptions extends CommonOptions {
  readonly agent: string;
  readonly lease: number;
}

const DEFAULT_LEASE_SECONDS = 1800;
const LONGEST_LEASE_SECONDS = 7 * 24 * 60 * 60;

export const claimCommand = defineCommand<ClaimOptions>({
  examples: [
    'volley tasks claim auth-system 04 --agent coder-1',
    'volley tasks claim auth-system 04 --agent coder-1 --lease 600',
  ],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument(...SEQ_ARGUMENT)
      .requiredOption('--agent <name>', 'who takes it')
      .option(
        '--lease <seconds>',
        'for how long, unless it is claimed again',
        numberOption,
        DEFAULT_LEASE_SECONDS,
      ),
  run: async ([name, seq], options, io) => {
    const { agent, lease } = options;
    if (!(lease > 0 && lease <= LONGEST_LEASE_SECONDS)) {
      throw new VolleyError('INVALID_VALUE', `--lease must be from 1 to ${LONGEST_LEASE_SECONDS} seconds.`);
    }
    refuseForAgents(io.env, 'claim subtasks');
    const folder = openFolder(io);
    const request = { seq: seq!, agent, leaseMs: lease * 1000 };
    const feature = await folder.change(name!, (now, moment) => claimSubtask(now, request, moment));
    const subtask = findSubtask(feature, seq!);
    const data = { feature: feature.name, subtask: subtaskView(subtask, folder.moment()) };
    return say(
      io,
      options,
      data,
      `${agent} has ${subtask.seq} of ${feature.name} for ${spanText(lease * 1000)}.`,
    );
  },
});

interface ReleaseOptions extends CommonOptions {
  readonly agent?: string;
}

export const releaseCommand = defineCommand<ReleaseOptions>({
  examples: ['volley tasks release auth-system 04', 'volley tasks release auth-system 04 --agent coder-1'],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .argument(...SEQ_ARGUMENT)
      .option('--agent <name>', 'only if this agent has it'),
  run: async ([name, seq], options, io) => {
    refuseForAgents(io.env, 'release subtasks');
    const folder = openFolder(io);
    const request = { seq: seq!, agent: options.agent };
    const feature = await folder.change(name!, (now) => releaseSubtask(now, request));
    const subtask = findSubtask(feature, seq!);
    const data = { feature: feature.name, subtask: subtaskView(subtask, folder.moment()) };
    return say(io, options, data, `${subtask.seq} of ${feature.name} is open again.`);
  },
});

export const blockCommand = defineCommand({
  examples: ['volley tasks block auth-system 04 "waits for the new API key"'],
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
    const folder = openFolder(io);
    const feature = await folder.change(name!, (now) => blockSubtask(now, request));
    const subtask = findSubtask(feature, seq!);
    const data = { feature: feature.name, subtask: subtaskView(subtask, folder.moment()) };
    return say(io, options, data, `${subtask.seq} of ${feature.name} is blocked.`);
  },
});

export const unblockCommand = defineCommand({
  examples: ['volley tasks unblock auth-system 04'],
  declare: (program) => program.argument(...FEATURE_ARGUMENT).argument(...SEQ_ARGUMENT),
  run: async ([name, seq], options, io) => {
    refuseForAgents(io.env, 'unblock subtasks');
    const folder = openFolder(io);
    const feature = await folder.change(name!, (now) => unblockSubtask(now, { seq: seq! }));
    const subtask = findSubtask(feature, seq!);
    const data = { feature: feature.name, subtask: subtaskView(subtask, folder.moment()) };
    return say(io, options, data, `${subtask.seq} of ${feature.name} is open again.`);
  },
});

interface ArchiveOptions extends CommonOptions {
  readonly force?: boolean;
}

export const archiveCommand = defineCommand<ArchiveOptions>({
  examples: ['volley tasks archive auth-system'],
  declare: (program) =>
    program.argument(...FEATURE_ARGUMENT).option('--force', 'even if some of its subtasks are open'),
  run: async ([name], options, io) => {
    refuseForAgents(io.env, 'archive features');
    const folder = openFolder(io);
    const { force = false } = options;
    await folder.read(name!);
    // A run would have nowhere to write down what becomes of it.
    const place = await withRunLock(folder, name!, () =>
      folder.archive(name!, (feature, { now }) => archiveFields(feature, now, force)),
    );
    const path = relative(folder.project, place);
    return say(io, options, { feature: name, path }, `${name} is now in ${path}.`);
  },
});
