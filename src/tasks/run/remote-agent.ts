import { randomBytes } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { AgentExit, AgentLog } from '../../agents/agent-process.ts';
import type { PlacedOn } from '../../coordinator/remote-runner.ts';
import { VolleyError } from '../../core/errors.ts';
import { NO_NEEDS } from '../../core/resource-table.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { AgentRun } from './agent-run.ts';
import type { AgentRequest } from './mailbox.ts';
import {
  checkedOutput,
  checkedPart,
  type PrintedEvent,
  RETURNED_BUNDLE,
  RETURNED_EVENTS,
  type RunAgentInput,
  type RunAgentOutput,
  runAgentTool,
  SENT_BUNDLE,
  SENT_PROJECT,
} from './run-agent-tool.ts';

const TOOL = runAgentTool(() =>
  Promise.reject(new VolleyError('INTERNAL', 'Agents of workers do not run in the coordinator.')),
);

interface RemoteAgentOptions {
  readonly on: PlacedOn;
  readonly workspace: Workspace;
  readonly run: AgentRun;
  /** The repository, and the path of the project in it. */
  readonly repository: string;
  readonly prefix: string;
  readonly timeoutMs: number;
  /** A temporary folder. */
  readonly scratch: string;
  readonly project: string;
  /** Files of the project that the agent reads and that need not be committed, as absolute paths. */
  readonly files: readonly string[];
  readonly projectMark: string;
  readonly signal: AbortSignal;
  readonly onEvent: (event: PrintedEvent) => void;
  readonly report: (step: string) => void;
}

interface RemoteEnd {
  /** How the agent exited. Throws if it had to be terminated. */
  end(): AgentExit;
  /** Its last request to its run. */
  readonly request: AgentRequest | undefined;
}

/** A text that stands for the folder of the project on the worker, which only that knows. */
export function newProjectMark(): string {
  return `/volley-project-${randomBytes(8).toString('hex')}`;
}

/** Where an agent on a worker finds a file that is sent to it. */
export function sentPath(projectMark: string, project: string, file: string): string {
  return join(projectMark, placeOf(project, file));
}

function placeOf(project: string, file: string): string {
  return file.startsWith(`${project}/`) ? file.slice(project.length + 1) : join('context', basename(file));
}

/**
 * Lets the worker of an attempt run its agent, and puts what that has changed into the workspace. What the worker says
 * is a report; what it sends is examined before it is used.
 */
export async function runRemoteAgent(options: RemoteAgentOptions, log: AgentLog): Promise<RemoteEnd> {
  const { on, workspace, run, repository, prefix, scratch, project, files, report } = options;
  const folder = await mkdtemp(join(scratch, 'agent-'));
  try {
    await mkdir(join(folder, SENT_PROJECT), { recursive: true });
    for (const file of files) {
      const place = join(folder, SENT_PROJECT, placeOf(project, file));
      await cp(file, place, { recursive: true, dereference: true, errorOnExist: false });
    }
    const { tips = [] } = on.agents.repositories.find(({ id }) => id === repository) ?? {};
    const sent = await workspace.send(join(folder, SENT_BUNDLE), tips);
    const { agent, claim, prompt, feature, seq, deniedPaths, allowedCommands, stallMs, budget, usedBefore } =
      run;
    const input: RunAgentInput = {
      ...{ repository, prefix, ...sent, feature, seq, claim, prompt, stallMs, budget, usedBefore },
      agent: agent.name,
      projectMark: options.projectMark,
      timeoutMs: options.timeoutMs,
      deniedPaths: [...deniedPaths],
      ...(allowedCommands !== undefined && { allowedCommands: [...allowedCommands] }),
    };
    report(`starting ${agent.name} on ${on.worker}`);
    const printed = new PrintedReader(options.onEvent);
    const value = await on
      .run(
        { tool: TOOL, input, needs: NO_NEEDS, folder },
        {
          signal: options.signal,
          report: () => undefined,
          log: (text) => printed.take(text),
        },
      )
      .catch((error: unknown) => {
        options.signal.throwIfAborted();
        throw error;
      });
    options.signal.throwIfAborted();
    printed.complete(await readFile(join(folder, RETURNED_EVENTS), 'utf8').catch(() => ''));
    const returned = checkedOutput(value);
    if (returned === undefined)
      throw Object.assign(
        new VolleyError(
          'AGENT_WORK_REFUSED',
          `The worker ${on.worker} returned something else than a report.`,
        ),
        { retryable: false },
      );
    Object.assign(log, returned.log);
    if (returned.commit !== undefined)
      await workspace.receive(join(folder, RETURNED_BUNDLE), returned.commit, sent);
    for (const warning of returned.warnings) options.onEvent({ type: 'stderr', text: warning });
    return { end: () => exitOf(returned), request: returned.request };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function exitOf({ exit, failure }: RunAgentOutput): AgentExit {
  if (failure !== undefined)
    throw new ToolFailure(failure.message, {
      reason: failure.reason,
      retryable: failure.reason === 'stalled',
    });
  const { exitCode, signal, errors } = exit ?? { errors: '' };
  return { exitCode, signal, errors };
}

/** Puts the parts of what an agent prints together. What is missing comes at the end, with the result. */
class PrintedReader {
  private seen = 0;

  constructor(private readonly onEvent: (event: PrintedEvent) => void) {}

  take(json: string): void {
    const part = checkedPart(json);
    if (part === undefined || part.from > this.seen) return;
    for (const event of part.events.slice(this.seen - part.from)) {
      this.seen++;
      this.onEvent(event);
    }
  }

  complete(lines: string): void {
    lines.split('\n').forEach((line, index) => {
      if (line !== '') this.take(`{"from":${index},"events":[${line}]}`);
    });
  }
}
