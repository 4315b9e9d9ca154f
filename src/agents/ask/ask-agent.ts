import { join, relative, sep } from 'node:path';
import { z } from 'zod';
import { ASK_AGENT } from '../../core/ask-tools.ts';
import type { ToolEnvironment } from '../../tools/builtin/environment.ts';
import { PATH } from '../../tools/builtin/input-fields.ts';
import { fileFailure, permanentFailure } from '../../tools/builtin/refusal.ts';
import { Roots } from '../../tools/builtin/roots.ts';
import { defineTool } from '../../tools/define-tool.ts';
import type { Tool } from '../../tools/tool.ts';
import { type AgentWorktree, type AgentWorktrees, commitMessage } from '../agent-worktrees.ts';
import { agentOf, agentQuota } from '../find-agent.ts';
import { answerCheck, requireUsable } from './answer.ts';
import { ANSWER_FIELDS, ASK_FIELDS, answerFields } from './fields.ts';
import { type AgentAccess, agentToAsk, questionAgent } from './question.ts';

const INPUT = z.strictObject({
  ...ASK_FIELDS,
  agent: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('The agent to ask. Default: the one in the configuration.'),
  folder: PATH.default('.').describe('The working folder of the agent.'),
  mode: z
    .enum(['read_only', 'worktree'])
    .default('read_only')
    .describe(
      'worktree: it may change files, in a new git worktree of the last commit. Its changes are on a branch; nothing is merged.',
    ),
  budget: z
    .strictObject({
      turns: z.int().min(1).optional(),
      tokens: z.int().min(1).optional(),
      cost: z.number().positive().optional().describe('US dollars.'),
    })
    .default({})
    .describe('What the answer may cost, as far as the agent reports it. Exceeding it fails the call.'),
});

type AskAgentInput = z.infer<typeof INPUT>;

const OUTPUT = z.object({
  ...ANSWER_FIELDS,
  agent: z.string(),
  changes: z
    .object({
      base: z.string().describe('The commit that it began with.'),
      branch: z.string().exactOptional().describe('Missing if nothing was changed.'),
      commit: z.string().exactOptional(),
      files: z.array(
        z.object({
          path: z.string(),
          added: z.number().exactOptional(),
          deleted: z.number().exactOptional(),
        }),
      ),
      more: z.number().exactOptional().describe('Changed files that are not listed.'),
      warnings: z.array(z.string()).exactOptional(),
    })
    .exactOptional()
    .describe('What it changed in its worktree.'),
});

type AskAgentResult = z.infer<typeof OUTPUT>;

/** Asks a coding agent a question about the files of a folder, which it reads itself, or changes in a worktree. */
export function askAgentTool(
  environment: ToolEnvironment,
  access: AgentAccess,
  worktrees: AgentWorktrees | undefined,
): Tool<AskAgentInput, AskAgentResult> {
  const roots = new Roots(environment.roots, undefined, environment.protection);
  const { settings } = access;
  const agentBy = (name = settings.agent) => (name === undefined ? undefined : agentOf(name, settings));
  return defineTool<AskAgentInput, AskAgentResult>({
    name: ASK_AGENT,
    description: `Asks a coding agent, such as codex or claude. It reads the files itself and changes nothing${worktrees === undefined ? '' : ', except with mode "worktree"'}. With a JSON Schema, the answer is data; if it is invalid, the agent is asked again.`,
    input: INPUT,
    output: OUTPUT,
    readOnly: worktrees === undefined,
    // A worktree that a crash left behind is removed.
    idempotent: true,
    timeoutMs: settings.timeoutMs,
    retry: { maxRetries: 2 },
    // The agent waits for its model most of the time.
    resources: { cpu: 0.1, memoryMb: 200, io: 'low', network: true },
    quota: ({ agent }) => {
      const chosen = agentBy(agent);
      return chosen && agentQuota(chosen);
    },
    cache: ({ agent, files, folder, mode }) => {
      const chosen = agentBy(agent);
      if (chosen === undefined || mode !== 'read_only') return undefined;
      const { name, adapter, model, program, env } = chosen;
      return {
        files: files.map((path) => join(folder, path)),
        version: JSON.stringify([name, adapter.name, model, program, env]),
      };
    },
    run: async (input, context) => {
      const { prompt, schema, max_asks, budget, mode } = input;
      if (mode === 'worktree' && worktrees === undefined)
        throw permanentFailure('Agents may only read here, until tools.ask_agent.worktrees is true.');
      await requireUsable(schema);
      const folder = await realFolder(roots, input.folder);
      const files = await Promise.all(input.files.map((path) => fileIn(roots, folder, input.folder, path)));
      const agent = agentToAsk(access, input.agent, folder);
      const ask = async (worktree?: AgentWorktree) => {
        context.report(`asking ${agent.name}`);
        const accepted = await questionAgent(access, {
          agent,
          prompt,
          files,
          folder: worktree?.folder ?? folder,
          writable: worktree,
          schema,
          check: answerCheck(schema),
          maxAsks: max_asks,
          budget,
          signal: context.signal,
          report: context.report,
          spent: (spending) => context.spent?.(spending),
        });
        return { ...answerFields(accepted), agent: agent.name };
      };
      if (mode === 'read_only') return ask();
      const worktree = await worktrees!.open(folder, files, files[0] ?? agent.name, context.signal);
      try {
        const answered = await ask(worktree);
        return { ...answered, changes: await worktree.save(commitMessage(agent.name, prompt)) };
      } finally {
        await worktree.close();
      }
    },
  });
}

async function realFolder(roots: Roots, folder: string): Promise<string> {
  try {
    return await roots.realPlace(folder);
  } catch (error) {
    throw fileFailure('use', folder, error);
  }
}

/** The path of a file as the agent finds it. It must exist, so that an agent is not paid to look for it. */
async function fileIn(roots: Roots, realFolder: string, folder: string, path: string): Promise<string> {
  try {
    return relative(realFolder, await roots.realPlace(join(folder, path))).replaceAll(sep, '/');
  } catch (error) {
    throw fileFailure('read', path, error);
  }
}
