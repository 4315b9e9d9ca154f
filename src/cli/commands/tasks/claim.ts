import { VolleyError } from '../../../core/errors.ts';
import { spanText } from '../../../core/words.ts';
import { subtaskOf } from '../../../tasks/lookup.ts';
import { refuseForAgents } from '../../../tasks/mailbox/ask-run.ts';
import { claimSubtask } from '../../../tasks/state/claim.ts';
import { subtaskView } from '../../../tasks/view.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { numberOption } from '../../program/options.ts';
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
    const subtask = subtaskOf(feature, seq!);
    const data = { feature: feature.name, subtask: subtaskView(subtask, folder.moment()) };
    return say(
      io,
      options,
      data,
      `${agent} has ${subtask.seq} of ${feature.name} for ${spanText(lease * 1000)}.`,
    );
  },
});
