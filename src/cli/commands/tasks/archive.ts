import { relative } from 'node:path';
import { refuseForAgents } from '../../../tasks/mailbox/ask-run.ts';
import { whileNotRun } from '../../../tasks/run/while-not-run.ts';
import { archiveFields } from '../../../tasks/state/archive.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { FEATURE_ARGUMENT, openFolder, say } from './support.ts';

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
    const place = await whileNotRun(folder, name!, () =>
      folder.archive(name!, (feature, { now }) => archiveFields(feature, now, force)),
    );
    const path = relative(folder.project, place);
    return say(io, options, { feature: name, path }, `${name} is now in ${path}.`);
  },
});
