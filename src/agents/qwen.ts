import type { AgentAdapter } from './adapter.ts';
import { streamJsonReader } from './claude.ts';
import { withVolleyCommands } from './user-settings.ts';

/** Its tools that can change something. */
const CHANGING = ['edit', 'write_file', 'run_shell_command'];

/** Qwen Code. Its runtime state goes to a private folder; its configuration and login are shared. */
export const qwenAdapter: AgentAdapter = {
  name: 'qwen',
  command: async ({ prompt, stateFolder, writes, model, maxTurns, allowedCommands, deniedPaths }) => ({
    argv: [
      'qwen',
      '--output-format',
      'stream-json',
      '--approval-mode',
      !writes ? 'default' : allowedCommands === undefined ? 'yolo' : 'auto-edit',
      ...(model === undefined ? [] : ['--model', model]),
      ...(maxTurns === undefined ? [] : ['--max-session-turns', String(maxTurns)]),
      ...(writes
        ? [
            ...withVolleyCommands(allowedCommands ?? []).flatMap((command) => [
              '--allowed-tools',
              `run_shell_command(${command} *)`,
            ]),
            ...deniedPaths.flatMap((path) => ['--exclude-tools', `Edit(${path})`]),
          ]
        : CHANGING.flatMap((tool) => ['--exclude-tools', tool])),
    ],
    env: { QWEN_RUNTIME_DIR: stateFolder },
    input: prompt,
  }),
  reader: streamJsonReader,
};
