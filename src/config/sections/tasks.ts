import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { flag, globRule, table, textList, wholeNumber } from './kinds.ts';

const defaults = DEFAULTS.tasks;
const A_WEEK_SECONDS = 604_800;

const optionalText = (does: string, defaultText = 'none') =>
  z.string().min(1).max(4096).optional().meta({ description: does, defaultText });

const optionalNumber = (type: z.ZodNumber, does: string) =>
  type.optional().meta({ description: does, defaultText: 'no limit' });

const agent = table(
  'An agent, by the name under which subtasks suggest it. Whoever has a table here may be delegated to.',
  {
    adapter: optionalText(
      'How it is started: `claude`, `codex`, `opencode`, `gemini`, `qwen`, or `command` for any other program.',
      '`command` where there is one, otherwise the name of the agent',
    ),
    model: optionalText('The model that it shall use.', "the agent's own choice"),
    command: z
      .array(z.string().min(1).max(4096))
      .min(1)
      .max(100)
      .optional()
      .meta({
        description:
          'The program and its arguments, started as they are. Of the adapter `command` it is what runs; of the others it stands instead of the program that they are named after.',
        examples: [['node', 'agents/coder.mjs']],
        defaultText: 'by the adapter',
      }),
    env: z
      .record(
        z
          .string()
          .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
          .meta({ description: 'the name of an environment variable such as "PATH"' }),
        z.string().max(8192).meta({ description: 'The value of the variable.', defaultText: 'none' }),
      )
      .default({})
      .meta({ description: 'Environment variables that it gets on top of yours.' }),
  },
);

const agentName = z
  .string()
  .regex(/^[A-Za-z_][\w-]{0,63}$/)
  .meta({ description: '1 to 64 letters, digits, "_" or "-", the first a letter or "_"' });

export const tasksSection = table('`volley tasks run`: agents that work on the subtasks of a feature.', {
  agent: optionalText('The agent of subtasks that suggest none.'),
  max_concurrent: wholeNumber({
    does: 'How many agents work at once.',
    default: defaults.max_concurrent,
    min: 1,
    max: 1000,
  }),
  worktrees: flag({
    does: 'Whether each agent works in a git worktree of its own, which is merged when its work was verified.',
    default: defaults.worktrees,
  }),
  timeout: wholeNumber({
    does: 'How many seconds an attempt at a subtask may take.',
    default: defaults.timeout,
    min: 1,
    max: A_WEEK_SECONDS,
  }),
  stall: wholeNumber({
    does: 'After how many seconds without any output an agent is taken to be stuck, and is ended.',
    default: defaults.stall,
    min: 1,
    max: A_WEEK_SECONDS,
  }),
  max_retries: wholeNumber({
    does: 'How often a subtask is tried again. The next agent is told what was missing.',
    default: defaults.max_retries,
    min: 0,
    max: 100,
  }),
  denied_paths: textList(
    {
      does: 'Globs of paths that no agent may touch. A subtask that did fails, and nothing of it is merged.',
      default: defaults.denied_paths,
      examples: ['**/*.env*', '.git/**'],
    },
    globRule,
  ),
  allowed_commands: textList({
    does: 'The shell commands that agents may run, by how they begin, for those that can keep to it. `[]` allows all.',
    default: defaults.allowed_commands,
    examples: ['npm test', 'git diff'],
  }),
  allowed_agents: textList({
    does: 'The agents that may be delegated to, besides `agent` and those of `[tasks.agents]`. All others are refused.',
    default: defaults.allowed_agents,
    examples: ['codex', 'claude'],
  }),
  setup: optionalText(
    'A shell command that is run in every new worktree before anything else, such as `npm ci`.',
  ),
  prompt: optionalText(
    'A file with the template of the prompt, relative to the folder of `volley.toml`.',
    "Volley's own",
  ),
  budget: table(
    'What one subtask may use, all its attempts together, as far as its agent tells. More ends it with the reason `budget`.',
    {
      turns: optionalNumber(z.number().int().min(1).max(1_000_000), 'Turns of the model.'),
      tokens: optionalNumber(z.number().int().min(1).max(1e12), 'Tokens, of input and output together.'),
      cost: optionalNumber(z.number().positive().max(1_000_000), 'US dollars.'),
    },
  ).prefault({}),
  agents: z.record(agentName, agent).default({}),
});
