import { neverRun } from '../../../tasks/desk/never-run.ts';
import { readReport } from '../../../tasks/run/report-file.ts';
import { reportText } from '../../../tasks/run/report-text.ts';
import { defineCommand } from '../../program/command.ts';
import { FEATURE_ARGUMENT, openFolder, say } from './support.ts';

export const reportCommand = defineCommand({
  examples: ['volley tasks report auth-system', 'volley tasks report auth-system --json'],
  declare: (program) => program.argument(...FEATURE_ARGUMENT),
  run: async ([name], options, io) => {
    const folder = openFolder(io);
    const { name: feature } = await folder.read(name!);
    const report = await readReport(folder, feature);
    if (report === undefined) throw neverRun(feature);
    return say(io, options, { ...report }, reportText(report));
  },
});
