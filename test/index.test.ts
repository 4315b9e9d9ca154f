import { describe, expect, it } from 'vitest';
import * as volley from '../src/index.ts';

describe('the public surface', () => {
  it('is this list of names and nothing else', () => {
    expect(Object.keys(volley).sort()).toEqual([
      'BATCH_TOOL_DESCRIPTION',
      'BatchExecutor',
      'CONTAINS',
      'DependencyGraph',
      'ERROR_CODES',
      'GraphNode',
      'GroupHandle',
      'OutageError',
      'PRIORITIES',
      'ParallelExecutionEngine',
      'ParallelToolCoordinator',
      'ProgressTracker',
      'RateLimitedError',
      'ResourceManager',
      'ToolFailure',
      'ToolRegistry',
      'VolleyError',
      'anthropicCalls',
      'anthropicResults',
      'anthropicTools',
      'defaultConfig',
      'defineTool',
      'diagnose',
      'findConfig',
      'loadConfig',
      'loadToolModules',
      'mcpCall',
      'mcpResult',
      'mcpTools',
      'openCoordinator',
      'openStore',
      'openaiChatCalls',
      'openaiChatResults',
      'openaiChatTools',
      'openaiResponsesCalls',
      'openaiResponsesResults',
      'openaiResponsesTools',
      'simulate',
      'toolNames',
      'vercelCalls',
      'vercelResults',
      'watchConfig',
    ]);
  });

  it('gives the engine these methods and nothing else', () => {
    const { prototype } = volley.ParallelExecutionEngine;
    const own = ['assertOpen', 'changeWorkers', 'constructor', 'find', 'findGroup', 'usePlacement'];
    const names = Object.getOwnPropertyNames(prototype).filter((name) => !own.includes(name));
    expect(names.sort()).toEqual([
      'allocationHistory',
      'cancel',
      'cancelAll',
      'cancelGroup',
      'check',
      'close',
      'drain',
      'explain',
      'handle',
      'ignoreQuotas',
      'learnDurations',
      'map',
      'pause',
      'queued',
      'quotas',
      'recallUsage',
      'resume',
      'setLimits',
      'statistics',
      'submit',
      'submitAll',
      'timeLeft',
      'utilizationHistory',
    ]);
  });
});
