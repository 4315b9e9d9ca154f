import type { Accepted } from '../../../agents/ask/answer.ts';
import { agentToAsk, questionAgent } from '../../../agents/ask/question.ts';
import { costText } from '../../../agents/usage.ts';
import { TrustStore } from '../../../config/trust-store.ts';
import { VolleyError } from '../../../core/errors.ts';
import { outputEnd } from '../../../core/printable-text.ts';
import { countText, reasonText } from '../../../core/words.ts';
import { childEnvironment } from '../../../git/child-environment.ts';
import { runCommand } from '../../../runners/process/command.ts';
import { createLauncher } from '../../../runners/process/helper-launcher.ts';
import type { Launcher } from '../../../runners/process/launcher.ts';
import type { Feature } from '../../../tasks/files/feature.ts';
import { parseFeature } from '../../../tasks/files/parse-feature.ts';
import type { TaskFolder } from '../../../tasks/files/task-folder.ts';
import {
  DRAFT_SCHEMA,
  draftCheck,
  draftPrompt,
  type RenderedDraft,
} from '../../../tasks/plan/agent-draft.ts';
import { featurePlanText, planFeature } from '../../../tasks/plan/plan.ts';
import { isAgentOfRun } from '../../../tasks/run/mailbox.ts';
import { trustFeature, verificationCommands } from '../../../tasks/verify/trust.ts';
import { confirm, EXIT, type ExitStatus, type Io } from '../../output/io.ts';
import { usageError, writeNote } from '../../output/messages.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { numberOption } from '../../program/options.ts';
import { onStopSignals } from '../../program/stop-signals.ts';
import { configOf, openFolder, readInputFile, say } from './support.ts';

interface DraftOptions extends CommonOptions {
  readonly from: string;
  readonly agent?: string;
  readonly feature?: string;
  readonly budgetCost?: number;
  readonly yes?: boolean;
}

const MAX_ASKS = 3;
const MAX_WORK_LENGTH = 200_000;
/** The host may be that of a company. Nothing in it can be taken for an option. */
const ISSUE = /^https:\/\/[\w.-]+\/[\w.-]+\/[\w.-]+\/issues\/\d+$/;
const GH_LIMITS = { outputBytes: 8 * 2 ** 20 };
const GH_TIMEOUT_MS = 60_000;
const MAX_SHOWN_LENGTH = 500;

export const draftCommand = defineCommand<DraftOptions>({
  examples: [
    'volley tasks draft --from idea.md --agent codex',
    'volley tasks draft --from https://github.com/owner/project/issues/12 --agent claude',
    'git log -1 --format=%B | volley tasks draft --from - --yes',
  ],
  declare: (program) =>
    program
      .requiredOption(
        '--from <source>',
        'what to do: a file, - for standard input, or the URL of an issue (read with gh)',
      )
      .option('--agent <name>', 'the agent that plans (default: agent under [tasks] in volley.toml)')
      .option('--feature <name>', 'the name of the folder (default: chosen by the agent)')
      .option('--budget-cost <dollars>', 'maximum cost, in US dollars', numberOption)
      .option('--yes', 'write the plan without asking'),
  run: async (_, options, io) => {
    const folder = openFolder(io);
    const { from, feature, yes = false, json = false } = options;
    // Before anything is paid for.
    if (!yes && (json || from === '-' || !io.stdin.isTTY))
      throw usageError(
        'The plan needs your approval, but this is not a terminal. Use a terminal, or add --yes.',
      );
    const taken = await folder.names();
    if (feature !== undefined && taken.includes(feature))
      throw usageError(`There is a feature ${JSON.stringify(feature)} already. Choose another name.`);
    const launcher = createLauncher();
    const stop = new AbortController();
    const ignoreSignals = onStopSignals(() => stop.abort(new VolleyError('INVALID_VALUE', 'Interrupted.')));
    try {
      const work = await readWork(from, launcher, io, stop.signal);
      const accepted = await plan(folder, launcher, { ...options, work, taken }, io, stop.signal);
      return await approve(folder, accepted, options, io);
    } catch (error) {
      if (stop.signal.aborted) return EXIT.interrupted;
      throw error;
    } finally {
      ignoreSignals();
      await launcher.close();
    }
  },
});

/** The description of the work. */
async function readWork(from: string, launcher: Launcher, io: Io, signal: AbortSignal): Promise<string> {
  const text =
    from === '-'
      ? await readAll(io)
      : /^https?:/i.test(from)
        ? await readIssue(from, launcher, io, signal)
        : await readInputFile(from, io);
  if (text.trim() === '') throw usageError(`${from === '-' ? 'Standard input' : from} is empty.`);
  if (text.length > MAX_WORK_LENGTH)
    throw usageError(`The description has ${text.length} characters; the maximum is ${MAX_WORK_LENGTH}.`);
  return text;
}

async function readAll({ stdin }: Io): Promise<string> {
  let text = '';
  for await (const chunk of stdin.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_WORK_LENGTH) break;
  }
  return text;
}

/** Reads an issue with `gh`, which knows the user's login. */
async function readIssue(url: string, launcher: Launcher, io: Io, signal: AbortSignal): Promise<string> {
  if (!ISSUE.test(url))
    throw usageError(
      `${JSON.stringify(url)} is not the URL of an issue, such as https://github.com/owner/project/issues/12.`,
    );
  const how = 'Install the GitHub CLI (gh) and log in, or save the issue to a file.';
  // The result keeps only the beginning and the end of a long output.
  const output: Buffer[] = [];
  const result = await runCommand(launcher, {
    argv: ['gh', 'issue', 'view', url, '--json', 'title,body,comments'],
    cwd: io.cwd,
    env: { ...childEnvironment(io.env), GH_PROMPT_DISABLED: '1', NO_COLOR: '1' },
    limits: GH_LIMITS,
    onOutput: (stream, chunk) => {
      if (stream === 'stdout') output.push(Buffer.from(chunk));
    },
    signal: AbortSignal.any([signal, AbortSignal.timeout(GH_TIMEOUT_MS)]),
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw usageError(`The issue cannot be read: ${reasonText(error)} ${how}`);
  });
  if (result.exitCode !== 0)
    throw usageError(`gh could not read the issue: ${outputEnd(result.stderr, MAX_SHOWN_LENGTH)}\n${how}`);
  return issueText(Buffer.concat(output).toString('utf8'));
}

interface Issue {
  readonly title?: unknown;
  readonly body?: unknown;
  readonly comments?: readonly { readonly author?: { readonly login?: unknown }; readonly body?: unknown }[];
}

function issueText(json: string): string {
  let issue: Issue;
  try {
    issue = JSON.parse(json);
  } catch {
    throw usageError('gh printed something that is not JSON.');
  }
  const comments = (issue.comments ?? []).map(
    ({ author, body }) => `Comment by ${author?.login ?? 'unknown'}:\n\n${body ?? ''}`,
  );
  return [`# ${issue.title ?? ''}`, issue.body ?? '', ...comments].join('\n\n').trim();
}

/** Asks the agent for a plan, and again with what is wrong with it. */
async function plan(
  folder: TaskFolder,
  launcher: Launcher,
  { work, taken, ...options }: DraftOptions & { readonly work: string; readonly taken: readonly string[] },
  io: Io,
  stop: AbortSignal,
): Promise<Accepted<RenderedDraft>> {
  const config = await configOf(folder, options, io);
  const { tasks: settings, trust } = config;
  const access = { settings, trust, env: childEnvironment(io.env), launcher: () => launcher };
  const agent = agentToAsk(access, options.agent, folder.project);
  const { budgetCost: cost, feature } = options;
  if (!options.json) writeNote(`${agent.name} is planning.`, io);
  return questionAgent(access, {
    agent,
    prompt: draftPrompt(work),
    files: [],
    folder: folder.project,
    schema: DRAFT_SCHEMA,
    check: draftCheck({ feature, taken, now: folder.moment().now }),
    maxAsks: MAX_ASKS,
    budget: cost === undefined ? settings.budget : { ...settings.budget, cost },
    signal: AbortSignal.any([stop, AbortSignal.timeout(settings.timeoutMs)]),
    report: (step) => {
      if (step.startsWith('not accepted') && !options.json) writeNote(`The plan was ${step}`, io);
    },
    spent: () => undefined,
  });
}

/** Shows the plan, and writes it if the user agrees. */
async function approve(
  folder: TaskFolder,
  { answer: { name, texts }, spending, asks }: Accepted<RenderedDraft>,
  { yes = false, ...options }: DraftOptions,
  io: Io,
): Promise<ExitStatus> {
  const draft = parseFeature(name, texts);
  if (!options.json) io.stdout.write(`${planText(draft)}\n\n`);
  const cost = spending.costUsd === undefined ? '' : `, ${costText(spending.costUsd)}`;
  if (!options.json && asks > 1) writeNote(`Asked ${countText(asks, 'time')}${cost}.`, io);
  if (!yes) {
    const commands = verificationCommands(draft).length;
    const question =
      commands === 0
        ? 'Write this feature?'
        : `Write this feature, and trust its ${countText(commands, 'command')}?`;
    const said = await confirm(question, io);
    if (said !== 'yes') {
      io.stdout.write(`${said === 'no' ? '' : '\n'}Nothing was written.\n`);
      return said === 'interrupted' ? EXIT.interrupted : EXIT.failed;
    }
  }
  const feature = await folder.create(name, texts);
  const isApproved = approveCommands(folder, feature, yes, io);
  const text = [
    `Wrote ${name} with ${countText(feature.subtasks.length, 'subtask')} to ${folder.path}.`,
    ...(isApproved ? [] : ['  ! An agent wrote its verification commands. To approve them: volley trust']),
    `Next: volley tasks run ${name}`,
  ].join('\n');
  const subtasks = feature.subtasks.map(({ seq }) => seq);
  return say(
    io,
    options,
    { feature: name, subtasks, asks, trusted: isApproved, ...costField(spending) },
    text,
  );
}

/** What an agent wrote is trusted only if a person has just seen it and agreed. */
function approveCommands(folder: TaskFolder, feature: Feature, isUnseen: boolean, { env }: Io): boolean {
  if (verificationCommands(feature).length === 0) return true;
  if (isUnseen || isAgentOfRun(env)) return false;
  try {
    trustFeature(folder, feature, new TrustStore(env));
    return true;
  } catch {
    return false;
  }
}

function costField({ costUsd }: Accepted['spending']): object {
  return costUsd === undefined ? {} : { cost_usd: Number(costUsd.toFixed(6)) };
}

/** The waves, and all that each subtask delivers and runs. */
function planText(feature: Feature): string {
  const details = feature.subtasks.flatMap(({ seq, title, dependsOn, deliverables, verification }) => [
    `  ${seq} ${title}`,
    ...(dependsOn.length === 0 ? [] : [`     after ${dependsOn.join(', ')}`]),
    ...deliverables.map((path) => `     writes ${path}`),
    ...verification.map((check) =>
      check.type === 'command'
        ? `     runs ${JSON.stringify(check.command)}`
        : `     checks ${check.type} ${check.path}`,
    ),
  ]);
  return [featurePlanText(feature, planFeature(feature)), '', ...details].join('\n');
}
