import { setTimeout as sleep } from 'node:timers/promises';
import type { LogSource } from '../../batch/log-page.ts';
import { batchNameOf, type Feature, progressOf, titleOf } from '../files/feature.ts';
import { featureStatusText, featureView, subtaskView } from '../files/feature-text.ts';
import { findSubtask } from '../files/subtask-reference.ts';
import type { TaskLocation } from '../files/task-folder.ts';
import { withCommandRunner } from '../verify/command-runner.ts';
import { type CompletedAnswer, completedAnswer, verifyAndComplete } from '../verify/complete.ts';
import { featureBoard } from './feature-board.ts';
import { type RunSetting, runFeature } from './feature-run.ts';
import { askRun, isAgentOfRun } from './mailbox.ts';
import type { RunReport } from './report.ts';
import { featureUsage, readReport } from './report-file.ts';
import { usedText } from './report-text.ts';
import { approveWork, type ReviewDiff, rejectWork, reviewDiff } from './review.ts';
import { type RunInput, toRunRequest } from './run-request.ts';
import { transcriptLog } from './transcript.ts';

interface CompletionRequest {
  readonly seq: string;
  readonly summary: string;
  readonly agent?: string | undefined;
}

interface StartedRun {
  /** The name of its batch. */
  readonly batch: string;
  readonly ended: Promise<RunReport>;
}

/** Another process writes its report shortly after its batch ends. */
const REPORT_TRIES = 20;
const REPORT_PAUSE_MS = 100;
/** How many failed subtasks of a run are known before its report is written. */
const MAX_FAILED = 1000;

/** The features of a project, as MCP and HTTP clients use them. */
export class FeatureService {
  private readonly setting: RunSetting;
  /** Runs of this process, by feature. */
  private readonly runs = new Map<string, Promise<RunReport>>();

  constructor(
    private readonly place: TaskLocation,
    setting: Omit<RunSetting, 'folder'>,
  ) {
    this.setting = { ...setting, folder: place.folder };
  }

  /** All features, without their subtasks. */
  async list() {
    const { folder } = this.place;
    const features = await Promise.all((await folder.names()).map((name) => folder.read(name)));
    return Promise.all(
      features.map(async (feature) => {
        const { done, total } = progressOf(feature);
        return {
          feature: feature.name,
          name: titleOf(feature),
          status: feature.task?.status ?? ('active' as const),
          subtask_count: total,
          completed_count: done,
          running: await this.isRunning(feature.name),
        };
      }),
    );
  }

  async status(name: string) {
    const { folder } = this.place;
    const feature = await folder.read(name);
    const moment = folder.moment();
    const usage = await featureUsage(folder, name);
    const data = {
      ...featureView(feature, moment),
      running: await this.isRunning(name),
      usage: usage ?? null,
    };
    return { text: `${featureStatusText(feature, moment)}${usedText(usage)}`, data };
  }

  /** A feature with all that a person decides by. */
  async board(name: string) {
    const { folder } = this.place;
    const { executor, store } = this.setting;
    const feature = await folder.read(name);
    const batch = batchNameOf(name);
    const [report, running] = await Promise.all([
      // A report that cannot be read is no reason to show nothing.
      readReport(folder, name).catch(() => undefined),
      this.isRunning(name),
    ]);
    // Until the report is written, the batch knows more.
    const view = running ? await executor.view(batch) : undefined;
    const failed = running ? await store.tasks(batch, { status: ['failed'], limit: MAX_FAILED }) : [];
    const sources = {
      moment: folder.moment(),
      project: folder.project,
      report,
      running: new Map(view?.running.map((task) => [task.id, task])),
      failed: new Map(failed.map(({ id, message }) => [id, message ?? ''])),
    };
    return { ...featureBoard(feature, sources), running };
  }

  /** The transcripts of a subtask's agents. */
  async log(name: string, reference: string): Promise<LogSource> {
    const { folder } = this.place;
    const { seq } = findSubtask(await folder.read(name), reference);
    return transcriptLog(folder.project, name, seq);
  }

  /** Checks everything and starts the agents. Throws on problems; later failures are in the report. */
  async start(name: string, input: RunInput): Promise<StartedRun> {
    const { config, executor } = this.setting;
    const request = toRunRequest(name, input, config.tasks);
    let begin!: () => void;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const ended = runFeature(this.setting, request, async (batch, terms) => {
      const started = await executor.handle({ action: 'start', batch, ...terms });
      if (!started.ok) return started;
      this.runs.set(name, ended);
      begin();
      return executor.handle({ action: 'wait', batch });
    });
    const forget = () => {
      if (this.runs.get(name) === ended) this.runs.delete(name);
    };
    ended.then(forget, forget);
    await Promise.race([begun, ended]);
    return { batch: batchNameOf(name), ended };
  }

  /** The report of the last run, unless the feature is running. */
  async report(name: string): Promise<{ state: 'running' | 'ended'; report: RunReport | undefined }> {
    const { folder } = this.place;
    await folder.read(name);
    for (let tries = 1; ; tries++) {
      if (await this.isBusy(name)) return { state: 'running', report: undefined };
      // The batch has ended, and its report is being written.
      await this.runs.get(name)?.catch(() => undefined);
      const report = await readReport(folder, name);
      const startedAt = (await this.setting.executor.view(batchNameOf(name)))?.startedAt ?? 0;
      const isLate = report === undefined || Date.parse(report.ended_at) < startedAt;
      if (!isLate || startedAt === 0 || tries === REPORT_TRIES) return { state: 'ended', report };
      await sleep(REPORT_PAUSE_MS);
    }
  }

  /** Verifies and completes a subtask. */
  async complete(
    name: string,
    { seq, summary, agent }: CompletionRequest,
    signal?: AbortSignal,
  ): Promise<CompletedAnswer> {
    const { folder, workspace } = this.place;
    const { env, config } = this.setting;
    if (isAgentOfRun(env)) {
      const request = { action: 'complete', feature: name, seq, summary } as const;
      return askRun<CompletedAnswer['data']>(env, request, signal);
    }
    const completion = { seq, summary, agent, workspace, env, signal };
    const completed = await withCommandRunner(config, (commands) =>
      verifyAndComplete(folder, name, completion, commands),
    );
    return completedAnswer(completed, seq, folder.moment());
  }

  /** Shows the work of a subtask that waits for review. */
  diff(name: string, seq: string): Promise<ReviewDiff> {
    return reviewDiff(this.place.folder, name, seq);
  }

  /** Merges work that waits for review. */
  async approve(name: string, work: { seq: string; commit: string }, signal?: AbortSignal) {
    const feature = await approveWork(this.setting, name, work, signal);
    return this.reviewed(feature, work.seq);
  }

  /** Sends work back to an agent. */
  async reject(name: string, work: { seq: string; commit: string; why: string }) {
    return this.reviewed(await rejectWork(this.setting, name, work), work.seq);
  }

  private reviewed(feature: Feature, seq: string) {
    const moment = this.place.folder.moment();
    return { feature: feature.name, subtask: subtaskView(findSubtask(feature, seq), moment) };
  }

  /** Waits until all reports are written. Close the executor first. */
  async close(): Promise<void> {
    await Promise.allSettled(this.runs.values());
  }

  /** Whether the feature is running, here or in another process. */
  async isRunning(name: string): Promise<boolean> {
    return this.runs.has(name) || this.isBusy(name);
  }

  private async isBusy(name: string): Promise<boolean> {
    const view = await this.setting.executor.view(batchNameOf(name));
    return view !== undefined && view.state !== 'idle';
  }
}
