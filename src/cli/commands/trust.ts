import { dirname, resolve } from 'node:path';
import type { WaitingSetting } from '../../config/gate.ts';
import { findConfig, inspectConfig } from '../../config/load.ts';
import { differences, filesInQuestion, trustKey } from '../../config/trust.ts';
import { type Approval, TrustStore } from '../../config/trust-store.ts';
import type { TrustedFiles } from '../../config/trusted-files.ts';
import { VolleyError } from '../../core/errors.ts';
import { printableJson, printableLine } from '../../core/printable-text.ts';
import { countText, listText } from '../../core/words.ts';
import { TaskFolder } from '../../tasks/files/task-folder.ts';
import { isTrusted, trustFeature, verificationCommands } from '../../tasks/verify/trust.ts';
import { createColors, wantsColors } from '../output/colors.ts';
import { confirm, EXIT, type ExitStatus, type Io } from '../output/io.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';

interface TrustOptions extends CommonOptions {
  readonly yes?: boolean;
  readonly print?: boolean;
  readonly revoke?: boolean;
  readonly list?: boolean;
}

/** What a user is asked to approve. */
interface Question {
  /** Undefined without a configuration. */
  readonly file: string | undefined;
  readonly folder: string;
  readonly waiting: readonly WaitingSetting[];
  readonly files: TrustedFiles | undefined;
  readonly approval: Approval | undefined;
  /** Files that changed since the approval. */
  readonly changed: readonly string[];
  readonly features: readonly FeatureQuestion[];
  readonly isApproved: boolean;
}

const MAX_FILES_SHOWN = 20;
/** Nobody can read and approve more. */
const MAX_LENGTH = 20_000;

export const trustCommand = defineCommand<TrustOptions>({
  examples: [
    'volley trust',
    'volley trust ../project --yes',
    'VOLLEY_TRUST=$(volley trust --print) volley run all.json',
  ],
  declare: (program) =>
    program
      .argument('[folder]', 'the folder (default: this one)')
      .option('--yes', 'approve without asking')
      .option('--print', 'print the hash for VOLLEY_TRUST; approve nothing')
      .option('--revoke', 'revoke the approval of the folder')
      .option('--list', 'list all approvals'),
  run: async ([folder = '.'], options, io) => {
    const store = new TrustStore(io.env);
    const cwd = resolve(io.cwd, folder);
    if (options.list) return listApprovals(store, options, io);
    if (options.revoke) return revoke(store, cwd, options, io);
    const question = await questionOf(store, cwd, options, io);
    return options.print ? print(question, options, io) : approve(store, question, options, io);
  },
});

function listApprovals(store: TrustStore, { json }: TrustOptions, { stdout }: Io): ExitStatus {
  const approvals = store.list().map(({ workspace, hash, approvedAt, ...rest }) => ({
    workspace,
    hash,
    approvedAt,
    ...('feature' in rest && { feature: rest.feature }),
  }));
  if (json) stdout.writeJson({ ok: true, approvals });
  else if (approvals.length === 0) stdout.write('Nothing is approved.\n');
  else
    for (const { workspace, approvedAt, feature } of approvals) {
      const what = feature === undefined ? '' : ` (commands of feature ${feature})`;
      stdout.write(`${printableLine(`${approvedAt}  ${workspace}${what}`)}\n`);
    }
  return EXIT.ok;
}

function revoke(store: TrustStore, cwd: string, { json, config }: TrustOptions, io: Io): ExitStatus {
  const file = config === undefined ? findConfig(cwd) : resolve(io.cwd, config);
  const key = file === undefined ? cwd : trustKey(file);
  const revoked = store.revoke(key);
  const text = revoked ? `${key} is no longer trusted.` : `${key} was not trusted.`;
  if (json) io.stdout.writeJson({ ok: true, workspace: key, revoked });
  else io.stdout.write(`${printableLine(text)}\n`);
  return EXIT.ok;
}

async function questionOf(
  store: TrustStore,
  cwd: string,
  { config }: TrustOptions,
  io: Io,
): Promise<Question> {
  const named = config === undefined ? {} : { file: resolve(io.cwd, config) };
  const found = await inspectConfig({ cwd, env: io.env, ...named });
  const folder = found === undefined ? cwd : dirname(found.file);
  const features = await featureApprovals(cwd, store);
  if (found === undefined) {
    const isApproved = features.every((one) => one.isApproved);
    return {
      file: undefined,
      folder,
      waiting: [],
      files: undefined,
      approval: undefined,
      changed: [],
      features,
      isApproved,
    };
  }
  const files = await filesInQuestion(found);
  const approval = approvalIn(store, trustKey(found.file));
  const isSame = found.waiting.length === 0 || approval?.hash === files.hash;
  return {
    file: found.file,
    folder,
    waiting: found.waiting,
    files,
    approval,
    changed: approval === undefined ? [] : differences(approval.files, files.files),
    features,
    isApproved: isSame && features.every((one) => one.isApproved),
  };
}

/** A broken approval counts as none: the next one replaces it. */
function approvalIn(store: TrustStore, key: string): Approval | undefined {
  try {
    return store.approval(key);
  } catch (error) {
    if (error instanceof VolleyError && error.code === 'TRUST_UNREADABLE') return undefined;
    throw error;
  }
}

function print({ files, folder }: Question, { json }: TrustOptions, { stdout }: Io): ExitStatus {
  if (files === undefined)
    throw new VolleyError('INVALID_VALUE', `No volley.toml in ${folder} or above it, so there is no hash.`);
  if (json) stdout.writeJson({ ok: true, hash: files.hash });
  else stdout.write(`${files.hash}\n`);
  return EXIT.ok;
}

async function approve(
  store: TrustStore,
  question: Question,
  { yes = false, json: isJson = false }: TrustOptions,
  io: Io,
): Promise<ExitStatus> {
  const { file, folder, waiting, files, features } = question;
  const end = (text: string, isTrusted: boolean) => {
    const answer = {
      ok: isTrusted,
      workspace: folder,
      trusted: isTrusted,
      hash: files?.hash ?? null,
      settings: waiting.map(({ setting }) => setting),
      files: Object.keys(files?.files ?? {}),
      changed: question.changed,
      features: features.flatMap(({ commands }) =>
        commands.map(({ feature, seq, command }) => `${feature} ${seq}: ${command}`),
      ),
    };
    if (isJson) io.stdout.writeJson(answer);
    else io.stdout.write(`${printableLine(text)}\n`);
  };
  if (waiting.length === 0 && features.length === 0) {
    end(`Nothing in ${folder} needs your approval.`, true);
    return EXIT.ok;
  }
  const lines = linesOf(question);
  if (!isJson) show(question, lines, io);
  if (question.isApproved) {
    end('You have already approved this.', true);
    return EXIT.ok;
  }
  // The user decides what an agent may do.
  if (io.env['VOLLEY_SUBTASK'])
    throw new VolleyError(
      'NOT_TRUSTED',
      'Nothing was approved: an agent working on a subtask cannot approve anything.',
    );
  if (!yes && (isJson || !io.stdin.isTTY))
    throw new VolleyError(
      'NOT_TRUSTED',
      'Nothing was approved: this is not a terminal. Run volley trust in a terminal, or volley trust --yes in a script.',
    );
  const answer = yes ? 'yes' : await confirm('Trust this folder?', io);
  if (answer !== 'yes') {
    // Without an answer, the cursor is still on the line of the question.
    io.stdout.write(`${answer === 'no' ? '' : '\n'}Nothing was approved.\n`);
    return answer === 'interrupted' ? EXIT.interrupted : EXIT.failed;
  }
  // Approves exactly what was shown: a file that changed in the meantime needs a new approval.
  if (file !== undefined && files !== undefined && waiting.length > 0) store.approve(trustKey(file), files);
  for (const one of features) one.approve();
  end(`${folder} is trusted until any of this changes.`, true);
  return EXIT.ok;
}

function show(question: Question, lines: ReturnType<typeof linesOf>, io: Io): void {
  const { file, folder, waiting, files, approval, changed } = question;
  const { bold } = createColors(wantsColors(io.stdout, io.env));
  const say = (text: string) => io.stdout.writeStyled(`${text}\n`);
  say(bold(printableLine(file ?? folder)));
  if (approval !== undefined && changed.length > 0)
    say(printableLine(`Changed since you approved it (${approval.approvedAt}): ${namesText(changed)}`));
  const { settings, features } = lines;
  if (settings.length > 0) say('This folder asks to:');
  for (const line of settings) say(`  - ${line}`);
  if (features.length > 0) say('Its features run these commands to verify work:');
  for (const line of features) say(`  - ${line}`);
  const names = Object.keys(files?.files ?? {});
  if (waiting.length > 0)
    say(printableLine(`The approval covers ${countText(names.length, 'file')}: ${namesText(names)}`));
}

function namesText(names: readonly string[]): string {
  return listText(names.slice(0, MAX_FILES_SHOWN), names.length);
}

/**
 * Everything that would be allowed, since hidden text would be approved, too. Values are shown as JSON, so that they
 * cannot look like something else.
 */
function linesOf({ waiting, features }: Question): {
  readonly settings: string[];
  readonly features: string[];
} {
  const commands = features.flatMap(({ commands }) =>
    commands.map(({ feature, seq, command }) => ({
      setting: `feature ${feature}`,
      text: `${json(feature)} ${json(seq)}: ${json(command)}`,
    })),
  );
  const settings = waiting.map((one) => ({ setting: one.setting, text: describe(one) }));
  let length = 0;
  for (const { setting, text } of [...settings, ...commands]) {
    length += text.length;
    if (length > MAX_LENGTH)
      throw new VolleyError(
        'NOT_TRUSTED',
        `Nothing was approved: the request is longer than ${MAX_LENGTH} characters, too long to read. Shorten ${printableLine(setting).slice(0, 200)}, or move it to a file of its own.`,
        { setting: setting.slice(0, 200) },
      );
  }
  return { settings: settings.map(({ text }) => text), features: commands.map(({ text }) => text) };
}

function json(value: unknown): string {
  return printableJson(JSON.stringify(value));
}

/** What a setting would allow. */
function describe({ setting, path, value }: WaitingSetting): string {
  const [section, table, name] = path;
  if (section === 'mcp' && table === 'servers') return serverText(name!, value as Server);
  if (section === 'tasks' && table === 'agents') return agentText(name!, value as Agent);
  if (section === 'models') return modelText(table!, value as Model);
  const said = `${printableLine(setting)} = ${json(value)}`;
  const meaning = MEANINGS[path.join('.')];
  return meaning === undefined ? said : `${meaning}: ${said}`;
}

const MEANINGS: Readonly<Record<string, string>> = {
  'tools.modules': 'run its own code inside Volley',
  'tools.shell.enabled': 'let agents run shell commands',
  'tools.http_request.enabled': 'let agents send HTTP requests',
  'tools.http_request.allow_private': 'let these requests reach this machine and your private network',
  'tools.ask_agent.enabled': 'start coding agents that read its files',
  'tools.ask_agent.worktrees': 'let these agents change files in git worktrees',
  'tools.roots': 'let agents read and write outside the folder',
  'store.file': 'keep batches outside the folder',
  'store.url': 'keep batches in this database',
  'processes.sandbox': 'run programs without a sandbox',
  'tasks.setup': 'run a command in every new worktree',
  'tasks.prompt': 'instruct agents with its own prompt',
  'tasks.agent': 'start an agent',
  'tasks.allowed_agents': 'start these agents',
};

interface Model {
  readonly url?: string;
  readonly key?: string;
}

function modelText(name: string, { url, key, ...rest }: Model): string {
  const withKey = key ? `, with the key in ${json(key)}` : '';
  return `send prompts and files to the model ${json(name)} at ${json(url)}${withKey}${othersText(rest)}`;
}

interface Server {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly url?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

function serverText(name: string, server: Server): string {
  const { command, args = [], url, env = {}, headers = {}, ...rest } = server;
  const what =
    command === undefined
      ? `connect to the MCP server ${json(name)} at ${json(url)}`
      : `start a program as the MCP server ${json(name)}: ${json([command, ...args])}`;
  const withEnv = Object.keys(env).length === 0 ? '' : `, with the environment variables ${json(env)}`;
  const withHeaders = Object.keys(headers).length === 0 ? '' : `, with the headers ${json(headers)}`;
  return `${what}${withEnv}${withHeaders}${othersText(rest)}`;
}

function othersText(rest: object): string {
  return Object.keys(rest).length === 0 ? '' : `, with ${json(rest)}`;
}

interface Agent {
  readonly command?: readonly string[];
}

function agentText(name: string, { command, ...rest }: Agent): string {
  return command === undefined
    ? `start the agent ${json(name)}${othersText(rest)}`
    : `start a program as the agent ${json(name)}: ${json(command)}${othersText(rest)}`;
}

/** The verification commands of a feature, which run only after approval. */
interface FeatureQuestion {
  /** Untrusted text. */
  readonly commands: readonly {
    readonly feature: string;
    readonly seq: string;
    readonly command: string;
  }[];
  readonly isApproved: boolean;
  approve(): void;
}

async function featureApprovals(cwd: string, store: TrustStore): Promise<FeatureQuestion[]> {
  const folder = TaskFolder.nearest(cwd);
  const features = await Promise.all((await folder.names()).map((name) => folder.read(name)));
  return features
    .filter((feature) => verificationCommands(feature).length > 0)
    .map((feature) => ({
      commands: verificationCommands(feature).map(({ seq, command }) => ({
        feature: feature.name,
        seq,
        command,
      })),
      isApproved: isTrusted(folder, feature, store),
      // Approves what was shown, even if the files have changed since.
      approve: () => trustFeature(folder, feature, store),
    }));
}
