import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { TaskStatus } from '../../../store/records.ts';
import { type Feature, type Subtask, type SubtaskStatus, titleOf } from '../../../tasks/feature.ts';
import { shortTitle, subtaskLine } from '../../../tasks/text/lines.ts';
import { graphDrawer } from '../../drawing/pictures.ts';
import type { FinishedTask } from '../../drawing/task-graph.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { FEATURE_ARGUMENT, openFolder, say } from './support.ts';

interface GraphOptions extends CommonOptions {
  readonly output?: string;
}

const DRAWN_AS: Readonly<Record<SubtaskStatus, TaskStatus>> = {
  completed: 'completed',
  in_progress: 'running',
  pending: 'open',
  blocked: 'open',
};

export const graphCommand = defineCommand<GraphOptions>({
  examples: ['volley tasks graph auth-system', 'volley tasks graph auth-system --output auth.svg'],
  declare: (program) =>
    program.argument(...FEATURE_ARGUMENT).option('--output <file>', 'a picture, as .svg, .mmd or .dot'),
  run: async ([name], options, io) => {
    const { output } = options;
    const draw = output === undefined ? undefined : graphDrawer(output);
    const feature = await openFolder(io).read(name!);
    const edges = feature.subtasks.flatMap(({ seq, dependsOn }) =>
      dependsOn.map((from) => ({ from, to: seq })),
    );
    if (draw !== undefined) {
      await writeFile(resolve(io.cwd, output!), draw(titleOf(feature), feature.subtasks.map(drawn)));
    }
    const data = { feature: feature.name, edges, ...(output !== undefined && { written: output }) };
    return say(io, options, data, output === undefined ? graphText(feature) : `Wrote ${output}`);
  },
});

function graphText(feature: Feature): string {
  const lines = feature.subtasks.map((subtask) => {
    const { dependsOn } = subtask;
    return `  ${subtaskLine(subtask)}${dependsOn.length > 0 ? ` ← ${dependsOn.join(', ')}` : ''}`;
  });
  return [`[${feature.name}] ${shortTitle(titleOf(feature))}`, ...lines].join('\n');
}

function drawn(subtask: Subtask): FinishedTask {
  const { seq, title, status, suggestedAgent = '', startedAt, completedAt, dependsOn } = subtask;
  return {
    id: seq,
    name: `${seq} ${title}`,
    function: status === 'blocked' ? `blocked ${suggestedAgent}`.trim() : suggestedAgent,
    status: DRAWN_AS[status],
    startMs: startedAt,
    endMs: completedAt,
    ...(startedAt !== undefined &&
      completedAt !== undefined && { durationMs: Math.max(0, completedAt - startedAt) }),
    attempts: 1,
    dependsOn,
  };
}
