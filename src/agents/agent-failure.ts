import { OutageError, RateLimitedError, ToolFailure } from '../engine/tool-failure.ts';
import { limitInText, outageInText } from '../tools/limit-text.ts';
import type { AgentExit, AgentLog } from './agent-process.ts';
import { agentQuota, type ChosenAgent } from './find-agent.ts';

/** How an agent failed, if it did: it reached a limit, something outside is out of reach, or anything else. */
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
  // What it says of a limit may stand on either stream.
  const said = `${errors}\n${text}`;
  const scope = agentQuota(agent);
  const limit = limitInText(said, Date.now());
  if (limit !== undefined) return new RateLimitedError(message, { ...limit, scope });
  const kind = outageInText(said);
  if (kind !== undefined) return new OutageError(message, { kind, scope });
  return new ToolFailure(message, { reason: signal === undefined ? 'error' : 'crashed' });
}
