import type { BatchExecutor } from '../../../src/batch/executor/batch-executor.ts';
import type { Random } from '../../../src/core/random.ts';

const SIZE = 250;

/** Does to one batch whatever can be done to it, in rounds, until it is told to stop; each round leaves nothing. */
export class SoakBatch {
  tasks = 0;
  /** Answers that were not expected. */
  readonly surprises: string[] = [];

  constructor(
    private readonly executor: BatchExecutor,
    private readonly batch: string,
    private readonly random: Random,
  ) {}

  async round(): Promise<void> {
    const { random } = this;
    const tasks = Array.from({ length: SIZE }, (_, index) => this.task(index));
    await this.ask('add_batch', { tasks });
    const fail_fast = random() < 0.1;
    await this.ask('start', { max_concurrent: 20, fail_fast, ...(random() < 0.2 && { timeout: 0.15 }) });
    await this.meddle();
    await this.ask('wait');
    if (random() < 0.5) {
      await this.ask('retry');
      await this.ask('start', { wait: true }, 'BATCH_RUNNING');
    }
    // What a stop has left open.
    await this.ask('start', { wait: true });
    await this.check();
    await this.ask('results', { format: random() < 0.5 ? 'summary' : 'detailed' });
    await this.ask('export', { output_file: `${this.batch}.jsonl`, format: 'jsonl' });
    await this.ask('clear');
  }

  private task(index: number): object {
    const { random } = this;
    this.tasks++;
    const dice = random();
    const needs = index > 0 && random() < 0.3 && { depends_on: [`t${Math.floor(random() * index)}`] };
    return { id: `t${index}`, ...work(dice, random), ...needs, ...(random() < 0.1 && { priority: 'high' }) };
  }

  /** Asks, adds, cancels and stops while it runs. */
  private async meddle(): Promise<void> {
    const { random } = this;
    await this.ask('status', { detailed: true });
    await this.ask('add', { function: 'good', params: { ms: 1 } });
    const dice = random();
    if (dice < 0.3) await this.ask('cancel', { ids: ['t10', 't100', `t${SIZE - 1}`] });
    else if (dice < 0.4) await this.ask('cancel', { all: true });
    else if (dice < 0.6) await this.ask('stop', { graceful: random() < 0.5 });
    await this.ask('status');
  }

  private async check(): Promise<void> {
    const { data } = await this.ask('status');
    const { open, running } = data['counts'] as { open: number; running: number };
    if (open + running > 0)
      this.surprises.push(`${this.batch}: ${open} are open and ${running} run at its end`);
  }

  private async ask(action: string, args: object = {}, allowed?: string) {
    const answer = await this.executor.handle({ action, batch: this.batch, ...args });
    if (!answer.ok && answer.error?.code !== allowed) this.surprises.push(`${action}: ${answer.text}`);
    if (answer.data['problem'] !== undefined) this.surprises.push(`${action}: ${answer.data['problem']}`);
    return answer;
  }
}

function work(dice: number, random: Random): object {
  if (dice < 0.1) return { function: 'bad' };
  if (dice < 0.2) return { function: 'flaky' };
  if (dice < 0.23) return { function: 'endless' };
  if (dice < 0.28) return { function: 'hungry' };
  if (dice < 0.35) return { function: 'jealous' };
  if (dice < 0.45) return { function: 'threaded', params: { fail: dice < 0.38 } };
  if (dice < 0.455)
    return { function: 'shell', params: { command: dice < 0.452 ? 'true' : 'sleep 60' }, timeout: 0.3 };
  if (dice < 0.5) return { function: 'good', params: { bytes: 20_000 } };
  return { function: 'good', params: { ms: Math.floor(random() * 4) } };
}
