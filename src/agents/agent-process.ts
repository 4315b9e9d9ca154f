import { StringDecoder } from 'node:string_decoder';
import type { TaskBudget } from '../config/config.ts';
import { outputEnd } from '../core/printable-text.ts';
import { spanText } from '../core/words.ts';
import { ToolFailure } from '../engine/tool-failure.ts';
import { runCommand } from '../runners/process/command.ts';
import type { Launcher } from '../runners/process/launcher.ts';
import type { AgentCommand, AgentEvent, AgentReader, AgentUsage } from './adapter.ts';
import { budgetExceeded, sumUsage } from './usage.ts';

const MAX_OUTPUT_BYTES = 1024 * 2 ** 20;
const MAX_SHOWN_LENGTH = 1000;
/** Longer lines are dropped; no meaningful event is that long. */
const MAX_LINE_LENGTH = 16 * 2 ** 20;

/** What an agent has reported so far. Valid however the agent ends. */
export interface AgentLog {
  usage: AgentUsage;
  lastText: string | undefined;
  result: { readonly ok: boolean; readonly text: string; readonly isProse?: true } | undefined;
}

interface AgentOptions {
  readonly command: AgentCommand;
  readonly reader: AgentReader;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stallMs: number;
  readonly budget: TaskBudget;
  /** The part of the budget that earlier attempts used. */
  readonly usedBefore: AgentUsage;
  readonly signal: AbortSignal;
  readonly onEvent: (event: AgentEvent) => void;
  /** A line of its standard error, or one of its output that its reader does not understand. */
  readonly onLine: (stream: 'stderr' | 'raw', line: string) => void;
}

export interface AgentExit {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** The end of its standard error. */
  readonly errors: string;
}

/**
 * Runs an agent until it exits. It is terminated, with all its child processes, if it prints nothing for too long,
 * exceeds its budget, or the signal is aborted.
 */
export async function runAgent(launcher: Launcher, options: AgentOptions, log: AgentLog): Promise<AgentExit> {
  const { command, reader, cwd, env, stallMs, budget, usedBefore } = options;
  const limits = new AbortController();
  const signal = AbortSignal.any([options.signal, limits.signal]);
  const take = (event: AgentEvent) => {
    note(log, event);
    options.onEvent(event);
    if (event.type !== 'usage') return;
    const over = budgetExceeded(sumUsage([usedBefore, log.usage]), budget);
    if (over === undefined) return;
    const message = `The agent exceeded its budget (${over}) and was terminated.`;
    limits.abort(new ToolFailure(message, { reason: 'budget', retryable: false }));
  };
  const lines = new LineSplitter((line) => {
    const events = reader.line(line);
    for (const event of events) take(event);
    if (events.length === 0 && line.trim() !== '' && !line.startsWith('{')) options.onLine('raw', line);
  });
  const errorLines = new LineSplitter((line) => options.onLine('stderr', line));
  const stalled = `The agent printed nothing for ${spanText(stallMs)} and was terminated.`;
  const timer = setTimeout(() => limits.abort(new ToolFailure(stalled, { reason: 'stalled' })), stallMs);
  try {
    const result = await runCommand(launcher, {
      argv: command.argv,
      cwd,
      env: { ...env, ...command.env },
      ...(command.input !== undefined && { input: command.input }),
      limits: { outputBytes: MAX_OUTPUT_BYTES },
      signal,
      onOutput: (stream, chunk) => {
        timer.refresh();
        (stream === 'stdout' ? lines : errorLines).push(chunk);
      },
    });
    lines.end();
    errorLines.end();
    reader.end().forEach(take);
    // The usage may be reported only in the last line.
    signal.throwIfAborted();
    const errors = outputEnd(result.stderr, MAX_SHOWN_LENGTH);
    return { exitCode: result.exitCode, signal: result.signal, errors };
  } finally {
    clearTimeout(timer);
  }
}

function note(log: AgentLog, event: AgentEvent): void {
  if (event.type === 'usage') {
    const { type: _, ...usage } = event;
    log.usage = { ...log.usage, ...usage };
  } else if (event.type === 'result') {
    const { type: _, ...result } = event;
    log.result = result;
  } else if (event.type === 'text') log.lastText = event.text;
}

/** Splits a stream of chunks into lines. */
class LineSplitter {
  private readonly decoder = new StringDecoder('utf8');
  private rest = '';
  private isTooLong = false;

  constructor(private readonly onLine: (line: string) => void) {}

  push(chunk: Buffer): void {
    this.take(this.decoder.write(chunk));
  }

  /** The last line may lack a newline. */
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
    if (this.rest.length <= MAX_LINE_LENGTH) return;
    this.isTooLong = true;
    this.rest = '';
  }
}
