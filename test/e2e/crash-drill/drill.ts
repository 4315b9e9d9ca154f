import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../../src/core/random.ts';
import { openStore } from '../../../src/store/sqlite-store.ts';
import { BatchCheck, type Journal } from './batch-check.ts';
import { leftOver, treeOf } from './processes.ts';
import type { DrillProgram, ProgramRun } from './program.ts';
import { readNotes, sizeOf } from './tool-log.ts';
import { type DrillTask, drillTasks } from './workload.ts';

interface DrillOptions {
  readonly kills: number;
  /** Tasks of each batch. */
  readonly size: number;
  readonly random: Random;
}

/** What a drill found; `surprises` must be empty. */
interface DrillReport {
  kills: number;
  batches: number;
  /** Tasks that another process added while a batch ran, and that were taken. */
  added: number;
  /** What ran at kills, all together: so many repeats are allowed. */
  inHand: number;
  repeats: number;
  crashed: number;
  readonly surprises: string[];
}

const MAX_CONCURRENT = 12;
const LOOK_MS = 3;
const LONGEST_START_MS = 1500;
/** A line of the tools has about so many characters. */
const LINE_LENGTH = 12;
const ADD_SHARE = 0.2;

/** Runs batches, kills the program in the midst of them, and goes on with the same command until all have ended. */
export async function crashDrill(program: DrillProgram, options: DrillOptions): Promise<DrillReport> {
  const report: DrillReport = {
    kills: 0,
    batches: 0,
    added: 0,
    inHand: 0,
    repeats: 0,
    crashed: 0,
    surprises: [],
  };
  while (report.kills < options.kills && report.surprises.length === 0)
    await new DrilledBatch(program, options, report).run(`b${++report.batches}`);
  return report;
}

class DrilledBatch {
  constructor(
    private readonly program: DrillProgram,
    private readonly options: DrillOptions,
    private readonly report: DrillReport,
  ) {}

  async run(name: string): Promise<void> {
    const { program, options, report } = this;
    const tasks = drillTasks(name, options.size, program.log, options.random);
    writeFileSync(
      join(program.folder, `${name}.json`),
      JSON.stringify({ max_concurrent: MAX_CONCURRENT, tasks }),
    );
    const check = new BatchCheck(name, tasks, MAX_CONCURRENT);
    for (let isOver = false; !isOver && check.surprises.length === 0; )
      isOver = await this.session(name, check);
    report.inHand += check.inHand;
    report.repeats += check.repeats;
    report.crashed += check.crashed;
    report.surprises.push(...check.surprises);
  }

  /** One run of the program, to its end or to a kill. Says whether the batch is over. */
  private async session(name: string, check: BatchCheck): Promise<boolean> {
    const { program, report, options } = this;
    const since = readNotes(program.log).length;
    const run = program.start('run', `${name}.json`);
    const adding = options.random() < ADD_SHARE ? this.addOne(name, check, run) : undefined;
    const tree = report.kills < options.kills ? await this.untilKill(run) : undefined;
    if (tree !== undefined && (await run.kill())) {
      report.kills++;
      const left = await leftOver(tree, program.mark);
      if (left.length > 0) report.surprises.push(`${name}: processes are left: ${left.join(', ')}`);
      await adding;
      check.afterKill(readNotes(program.log), since, await this.journal(name));
      return false;
    }
    const status = await run.ended;
    await adding;
    const journal = await this.journal(name);
    // What was added at the last moment, or by a program that ended before it could run it.
    if ((journal.batch?.counts.open ?? 0) > 0) return false;
    check.atEnd(readNotes(program.log), journal);
    this.checkAnswer(name, run, status, journal);
    const left = await leftOver([], program.mark);
    if (left.length > 0) report.surprises.push(`${name}: processes are left: ${left.join(', ')}`);
    return true;
  }

  /** Waits for the moment of a kill; gives all processes that run then, or nothing if it ended before. */
  private async untilKill(run: ProgramRun): Promise<number[] | undefined> {
    const { random, size } = this.options;
    const { log } = this.program;
    // Some kills hit its start, in which it recovers and adds; the others the work.
    const isEarly = random() < 0.25;
    const deadline = performance.now() + (isEarly ? random() * LONGEST_START_MS : Number.POSITIVE_INFINITY);
    const enough = sizeOf(log) + random() * size * 0.7 * LINE_LENGTH;
    while (performance.now() < deadline && (isEarly || sizeOf(log) < enough)) {
      if (run.hasEnded) return undefined;
      await sleep(LOOK_MS);
    }
    return treeOf(run.pid);
  }

  /** Another process adds a task to the batch while this one runs it. */
  private async addOne(name: string, check: BatchCheck, run: ProgramRun): Promise<void> {
    const { program, report } = this;
    const before = sizeOf(program.log);
    while (!run.hasEnded && sizeOf(program.log) === before) await sleep(LOOK_MS);
    if (run.hasEnded) return;
    const id = `added${report.kills}-${before}`;
    const task: DrillTask = {
      id,
      function: 'plain',
      params: { log: program.log, key: `${name}/${id}`, ms: 5 },
    };
    const params = JSON.stringify(task.params);
    const words = ['--batch', name, '--id', id, '--function', 'plain', '--params', params];
    const add = program.start('add', ...words);
    if ((await add.ended) === 0) {
      report.added++;
      check.accept(task);
    } else report.surprises.push(`${name}: a task was refused: ${add.stdout}${add.stderr}`);
  }

  private async journal(name: string): Promise<Journal> {
    const store = await openStore(this.program.store);
    try {
      const tasks = await store.tasks(name, { limit: 1_000_000 });
      const results = await store.results(
        name,
        tasks.map(({ id }) => id),
      );
      return { batch: await store.batch(name), tasks, resultOf: (id) => results.get(id) };
    } finally {
      await store.close();
    }
  }

  private checkAnswer(name: string, run: ProgramRun, status: number | null, { batch }: Journal): void {
    const { surprises } = this.report;
    if (status !== 0 && status !== 1)
      surprises.push(`${name}: exit status ${status}: ${run.stdout}${run.stderr}`);
    else {
      const { counts } = JSON.parse(run.stdout).data;
      if (JSON.stringify(counts) !== JSON.stringify(batch?.counts))
        surprises.push(`${name}: the program counts ${JSON.stringify(counts)}`);
    }
    if (run.stderr !== '') surprises.push(`${name}: the program complains: ${run.stderr}`);
  }
}
