import type { VolleyConfig } from '../../config/config.ts';
import type { EnvironmentVariables } from '../../config/environment.ts';
import { childEnvironment } from '../../git/child-environment.ts';
import type { ToolSet } from '../../tools/builtin/environment.ts';
import type { Tool } from '../../tools/tool.ts';
import { AgentWorktrees } from '../agent-worktrees.ts';
import { askAgentTool } from './ask-agent.ts';
import { askModelTool } from './ask-model.ts';

/** `ask_agent` and `ask_model`, as far as the configuration enables them. */
export function askTools(config: VolleyConfig, env: EnvironmentVariables = process.env): ToolSet {
  return {
    toolsFor: (environment) => {
      const tools: Tool[] = [];
      if (config.askAgent.enabled)
        tools.push(
          askAgentTool(
            environment,
            {
              settings: config.tasks,
              trust: config.trust,
              env: childEnvironment(env),
              launcher: environment.shell.launcher,
            },
            config.askAgent.worktrees ? new AgentWorktrees(config) : undefined,
          ),
        );
      if (Object.keys(config.models).length > 0) tools.push(askModelTool(environment, config, env));
      return { tools, absent: new Map() };
    },
  };
}
