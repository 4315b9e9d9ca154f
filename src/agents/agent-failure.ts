import { OutageError, RateLimitedError, ToolFailure } from '../engine/tool-failure.ts';
import { limitInText, outageInText } from '../tools/limit-text.ts';
import type { AgentExit, AgentLog } from './agent-process.ts';
import { agentQuota, type ChosenAgent } from './find-agent.ts';

/**
 * How an agent failed, if it did: it reached a limit, something outside is out of reach, or anything else. Only its
 * program is believed when a limit resets, not the model: a repository could make it say anything, and pause the account
 * for days. After a limit in the model's words the agent is asked again soon, and then less and less often.
 */
export function agentFailure(
  agent: ChosenAgent,
  { exitCode, signal, errors }: AgentExit,
  { result, lastText }: AgentLog,
  redact: (text: string) => string = (text) => text,
): ToolFailure | undefined {
  if (exitCode === 0 && result?.ok !== false) return undefined;
  const text = result?.text ?? lastText ?? '';
  const how =
    signal !== undefined
      ? `was terminated by ${signal}`
      : exitCode === 0
        ? 'reported a failure'
        : `exited with status ${exitCode}`;
  const why = redact(exitCode === 0 ? text : errors || text).trim();
  const message = `${agent.name} ${how}${why === '' ? '.' : `: ${why}`}`;
  const scope = agentQuota(agent);
  // It may stand on either stream.
  const own = result?.ok === false && result.isProse !== true ? `${errors}\n${text}` : errors;
  const limit = limitInText(own, Date.now());
  if (limit !== undefined) return new RateLimitedError(message, { ...limit, scope });
  if (limitInText(text, Date.now()) !== undefined) return new RateLimitedError(message, { scope });
  // Any other program has no other way to say it.
  const kind = outageInText(agent.adapter.name === 'command' ? `${own}\n${text}` : own);
  if (kind !== undefined) return new OutageError(message, { kind, scope });
  return new ToolFailure(message, { reason: signal === undefined ? 'error' : 'crashed' });
}
