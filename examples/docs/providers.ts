import { anthropicCalls, anthropicResults, anthropicTools, ParallelToolCoordinator } from 'volley';
import { builtinTools } from 'volley/tools';

// What messages.create() of the SDK would answer.
const model = {
  create: async (request: object) => ({
    request,
    role: 'assistant',
    content: [
      { type: 'text' as const, text: 'I read both.' },
      {
        type: 'tool_use' as const,
        id: 'toolu_1',
        name: 'read_file',
        input: { path: 'LICENSE', line_count: 1 },
      },
      { type: 'tool_use' as const, id: 'toolu_2', name: 'read_file', input: { path: 'missing.txt' } },
    ],
  }),
};

// #region anthropic
const coordinator = new ParallelToolCoordinator();
coordinator.register(builtinTools({ write: false }));

const tools = anthropicTools(coordinator.tools());
const message = await model.create({ tools, messages: [] });

const results = await coordinator.executeParallel(anthropicCalls(message));

const next = { role: 'user', content: anthropicResults(results) };
// #endregion anthropic

for (const { tool_use_id, is_error } of next.content) console.log(tool_use_id, is_error ?? false);
await coordinator.close();
