import type { Progress } from '../../protocol/reports.ts';
import type { RunLink } from '../../protocol/run-link.ts';
import { watchFolder } from '../files/folder-watch.ts';
import { type ExitRecord, readExit, readTrainer, type RunFolder } from '../guard/guard-files.ts';
import type { Guarded, LaunchDeps } from '../guard/guard-launch.ts';
import { createLogReader } from '../logs/log-reader.ts';
import type { Figures } from '../metrics/point-book.ts';
import { endGroup } from '../process/process-group.ts';
import { isRunning } from '../process/processes.ts';
import { createProgressReader, type OutputItem } from '../metrics/progress.ts';
import { createTrackerLinks } from '../metrics/tracker-links.ts';
import { createStageReader, wireProgress, type StageAndLine } from './sent-progress.ts';

const checkEveryMs = 250;
/** Interval of the check that the guard is alive, in ms. A guard that was killed leaves no exit record. */
const guardEveryMs = 1_000;
/** Maximum unread output, in bytes. Older output is skipped, because the newest is enough to show the progress. */
const maxBehind = 8 * 1024 * 1024;
/** Minimum time between reports of a new line, so that lines alone do not cause more calls to the orchestrator. */
const minLineIntervalMs = 5_000;
/**
 * Grace period in ms for a trainer whose guard is gone. The trainer would soon fail anyway, because it can no longer
 * print.
 */
export const orphanGraceMs = 5_000;

export interface RunListeners {
  readonly onProgress: (progress: Progress) => void;
  /** Receives every progress item. `isOld`: printed before this agent process started to read. */
  readonly onFigures: (figures: Figures, isOld: boolean) => void;
  readonly onLine: (line: string) => void;
  /** Called when the stage or the newest line has changed. A new line is reported every few seconds at most, and at the end. */
  readonly onStage?: (stageAndLine: StageAndLine) => void;
  /**
   * Called when the output contains the address of the run at an experiment tracker. Includes output from before this
   * agent process.
   */
  readonly onLink?: (link: RunLink) => void;
}

export interface Attended {
  readonly run: RunFolder;
  readonly guarded: Guarded;
  readonly logFile: string;
  /** Whether an earlier agent process has read the existing output. */
  readonly isAdopted: boolean;
}

/** Reads a trainer's output. `finished` resolves when the trainer has ended; with null if its guard left no exit record. */
export function followRun(attended: Attended, listeners: RunListeners, deps: LaunchDeps) {
  const { run, guarded } = attended;
  const { processes, clock } = deps;
  const finished = Promise.withResolvers<ExitRecord | null>();
  const output = createFollowedOutput(attended, listeners, clock.mono);
  let guardCheckedAt = clock.mono();

  const guardIsGone = async (): Promise<boolean> => {
    if (clock.mono() - guardCheckedAt < guardEveryMs) return false;
    guardCheckedAt = clock.mono();
    return guarded.guard === null || !(await isRunning(processes, guarded.guard).catch(() => true));
  };

  const finish = async (exit: ExitRecord | null): Promise<void> => {
    unwatch();
    if (exit === null) {
      const trainer = readTrainer(run) ?? guarded.trainer;
      if (trainer !== null) await endGroup(trainer, orphanGraceMs, deps);
    }
    await output.end();
    finished.resolve(exit);
  };

  const check = async (): Promise<void> => {
    await output.readNew();
    const exit = readExit(run);
    if (exit !== null) await finish(exit);
    // The guard may have written its exit record between the two checks.
    else if (await guardIsGone()) await finish(readExit(run));
  };
  const unwatch = watchFolder({ folder: run.path, check, everyMs: checkEveryMs, clock });
  return { finished: finished.promise, leave: unwatch };
}

/** Reports the log of a run in portions. Lines that an earlier agent process has read are not reported again. */
function createFollowedOutput(
  { run, logFile, isAdopted }: Attended,
  listeners: RunListeners,
  mono: () => number,
) {
  const log = createLogReader(run, logFile);
  const reader = createProgressReader();
  let isOldOutput = isAdopted;
  const stageReader = createStageReader();
  const links = createTrackerLinks();
  let reported: StageAndLine = stageReader.current();
  let reportedAt = Number.NEGATIVE_INFINITY;

  const reportStage = (isEnd: boolean): void => {
    const current = stageReader.current();
    if (
      current.stage === reported.stage &&
      (current.line === reported.line || (!isEnd && mono() - reportedAt < minLineIntervalMs))
    )
      return;
    reported = current;
    reportedAt = mono();
    listeners.onStage?.(current);
  };

  const report = (items: readonly OutputItem[], earlier: Progress | null): Progress | null => {
    let progress = earlier;
    for (const item of items) {
      stageReader.note(item);
      const link = item.kind === 'line' ? links.note(item.text) : null;
      if (link !== null) listeners.onLink?.(link);
      if (item.kind === 'progress') {
        const figures = wireProgress(item.progress);
        listeners.onFigures({ progress: figures, gaps: item.progress.gaps ?? [] }, isOldOutput);
        progress = { ...progress, ...figures };
      } else if (!isOldOutput) listeners.onLine(item.text);
    }
    return progress;
  };

  const readNew = async (): Promise<void> => {
    let left = await log.behind();
    // The curves of an adopted run need its whole log. The size of the log on disk is limited.
    if (!isOldOutput && left > maxBehind) {
      await log.skipTo(maxBehind);
      reader.end();
      left = maxBehind;
    }
    let progress: Progress | null = null;
    while (left > 0) {
      const bytes = await log.next();
      if (bytes.length === 0) break;
      left -= bytes.length;
      progress = report(reader.push(bytes), progress);
    }
    isOldOutput = false;
    if (progress !== null) listeners.onProgress(progress);
    reportStage(false);
  };

  return {
    readNew,
    async end(): Promise<void> {
      await readNew();
      const progress = report(reader.end(), null);
      if (progress !== null) listeners.onProgress(progress);
      reportStage(true);
    },
  };
}
