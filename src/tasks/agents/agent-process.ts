import { StringDecoder } from 'node:string_decoder';
import type { TaskBudget } from '../../config/config.ts';
import { spanText } from '../../core/words.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import { runCommand } from '../../runners/process/command.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import { outputEnd } from '../verify/command-runner.ts';
import type { AgentCommand, AgentEvent, AgentReader, AgentUsage } from './adapter.ts';
import { budgetExceeded, sumUsage } from './usage.ts';

const OUTPUT_BYTES = 1024 * 2 ** 20;
const SHOWN_LENGTH = 1000;

/** What an agent has said so far. It is there however the agent ends. */
export interface AgentLog {
  usage: AgentUsage;
  lastText: string | undefined;
  result: { readonly ok: boolean; readonly text: string } | undefined;
}

export interface AgentOptions {
  readonly command: AgentCommand;
  readonly reader: AgentReader;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stallMs: number;
  readonly budget: TaskBudget;
  /** What earlier attempts have used of the budget. */
  readonly usedBefore: AgentUsage;
  readonly signal: AbortSignal;
  readonly onEvent: (event: AgentEvent) => void;
}

/** How the process of an agent ended by itself. */
export interface AgentExit {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** The end of what it wrote as errors. */
  readonly errors: string;
}

/**
 * Runs an agent to its end. One that writes nothing for too long, or uses more than it may, is ended, with all that it
 * started; so is one whose signal is aborted.
 */
export async function runAgent(launcher: Launcher, options: AgentOptions, log: AgentLog): Promise<AgentExit> {
  const { command, reader, cwd, env, stallMs, budget, usedBefore, signal } = options;
  const controller = new AbortController();
  const end = () => controller.abort(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  const take = (event: AgentEvent) => {
    note(log, event);
    options.onEvent(event);
    if (event.type !== 'usage') return;
    const over = budgetExceeded(sumUsage([usedBefore, log.usage]), budget);
    if (over !== undefined) controller.abort(overBudget(over));
  };
  const lines = new LineSplitter((line) => reader.line(line).forEach(take));
  const timer = setTimeout(() => controller.abort(stalled(stallMs)), stallMs);
  try {
    const {
      exitCode,
      signal: by,
      stderr,
    } = await runCommand(launcher, {
      argv: command.argv,
      cwd,
      env: { ...env, ...command.env },
      ...(command.input !== undefined && { input: command.input }),
      limits: { outputBytes: OUTPUT_BYTES },
      signal: controller.signal,
      onOutput: (stream, chunk) => {
        timer.refresh();
        if (stream === 'stdout') lines.push(chunk);
      },
    });
    lines.end();
    reader.end().forEach(take);
    // What it used may be told in its last line only.
    if (controller.signal.aborted) throw controller.signal.reason;
    return { exitCode, signal: by, errors: outputEnd(stderr, SHOWN_LENGTH) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

function note(log: AgentLog, event: AgentEvent): void {
  if (event.type === 'usage') {
    const { type: _, ...usage } = event;
    log.usage = { ...log.usage, ...usage };
  } else if (event.type === 'result') log.result = { ok: event.ok, text: event.text };
  else if (event.type === 'text') log.lastText = event.text;
}

function stalled(stallMs: number): ToolFailure {
  return new ToolFailure(`The agent wrote nothing for ${spanText(stallMs)} and was ended.`, {
    reason: 'stalled',
  });
}

function overBudget(over: string): ToolFailure {
  return new ToolFailure(`The agent used more than its budget (${over}) and was ended.`, {
    reason: 'budget',
    retryable: false,
  });
}

/** Longer lines are left out: nothing that an agent means is that long. */
const LONGEST_LINE = 16 * 2 ** 20;

/** Makes lines of chunks. */
export class LineSplitter {
  private readonly decoder = new StringDecoder('utf8');
  private rest = '';
  private isTooLong = false;

  constructor(private readonly onLine: (line: string) => void) {}

  push(chunk: Buffer): void {
    this.take(this.decoder.write(chunk));
  }

  /** The last line may have no end. */
  end(): void {
    this.take(this.decoder.end());
    if (this.rest !== '' && !this.isTooLong) this.onLine(this.rest);
    this.rest = '';
  }

  private take(text: string): void {
    let from = 0;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
      const line = this.rest + text.slice(from, at);
      this.rest = '';
      from = at + 1;
      if (!this.isTooLong) this.onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
      this.isTooLong = false;
    }
    if (this.isTooLong) return;
    this.rest += text.slice(from);
    if (this.rest.length <= LONGEST_LINE) return;
    this.isTooLong = true;
    this.rest = '';
  }
}
