import { resolve } from 'node:path';
import type { TaskSettings } from './config.ts';
import type { Settings } from './schema.ts';

export function toTasks(tasks: Settings['tasks'], folder: string): TaskSettings {
  return {
    agent: tasks.agent,
    maxConcurrent: tasks.max_concurrent,
    worktrees: tasks.worktrees,
    timeoutMs: tasks.timeout * 1000,
    stallMs: tasks.stall * 1000,
    maxRetries: tasks.max_retries,
    deniedPaths: tasks.denied_paths,
    allowedCommands: tasks.allowed_commands.length === 0 ? undefined : tasks.allowed_commands,
    allowedAgents: tasks.allowed_agents,
    setup: tasks.setup,
    promptFile: tasks.prompt === undefined ? undefined : resolve(folder, tasks.prompt),
    budget: tasks.budget,
    agents: tasks.agents,
  };
}
