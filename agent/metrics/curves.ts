import type { AttemptId, JobId } from '../../protocol/ids.ts';
import type { MetricPoint } from '../../protocol/metrics-api.ts';
import type { Progress } from '../../protocol/reports.ts';
import type { ApiClient } from '../connection/api-client.ts';
import { createBackoff, pause } from '../retry/retry.ts';
import type { Clock } from '../clock.ts';
import { decide, loopWaits } from '../retry/decisions.ts';
import { createMetricsReader, type ReadMetricsFiles } from './metrics-reader.ts';
import type { MetricsFiles } from './metrics-files/index.ts';
import { createPointBook, type Figures, maxBatchPoints, type PointBook } from './point-book.ts';

export interface CurveDeps {
  readonly clock: Clock;
  /** Returns the uptime of the machine in ms (`machineUptime`). */
  readonly uptime: () => number;
  readonly api: Pick<ApiClient, 'uploadPoints'>;
  readonly random: () => number;
  /** Queries the current GPU metrics. The query may be slow, and may never resolve. */
  readonly gpuFigures: () => Promise<MetricPoint['values']>;
  /** Reads the metrics files below an output folder. When absent, no metrics files are read. */
  readonly files?: {
    readonly open: (outputDir: string) => MetricsFiles;
    /** ms since 1970. */
    readonly wall: () => number;
  };
  /** Fires when the agent ends. Unsent points are then lost, unless they are in the log of a run that continues. */
  readonly ended: AbortSignal;
}

export interface CurveOrigin {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  /**
   * When the attempt was claimed, in ms of machine uptime. It is kept on disk, so a restart of the agent does not
   * change it.
   */
  readonly startedAt: number;
  /** Whether an earlier process of the agent has sent a part of the curve. */
  readonly isAdopted: boolean;
  /** The output folder of the trainer; null when it is unknown. */
  readonly outputDir: string | null;
  /** Called with the progress that metrics files show. */
  readonly onProgress?: (progress: Progress) => void;
}

/** The metrics of one attempt over time. */
export interface Curve {
  /** Resolves when the files of earlier attempts are identified. The trainer must not start earlier. */
  readonly ready: Promise<void>;
  /** Adds printed figures. `isOld`: they were printed at an unknown time, before this process started to read. */
  note(figures: Figures, isOld: boolean): void;
  /** Call when the run has ended. Sends the remaining points immediately. */
  finish(): void;
  /** Resolves with true when nothing is left to send, or with false when the agent ended first. */
  readonly done: Promise<boolean>;
}

export interface Curves {
  open(origin: CurveOrigin): Curve;
  /** Resolves when all open curves are done, or after `withinMs`. */
  drained(withinMs: number): Promise<void>;
}

const sendEveryMs = 5_000;
const probeEveryMs = 10_000;
/**
 * The timeout of a GPU query in ms. After a timeout, queries are less frequent, because each may leave a process
 * behind.
 */
const probeTimeoutMs = 15_000;
const slowProbeEveryMs = 120_000;

/** Sends the points of running attempts, every few seconds. */
export function createCurves(deps: CurveDeps): Curves {
  const openCurves = new Set<Promise<boolean>>();
  return {
    open(origin) {
      const now = (): number => Math.max(0, Math.round(deps.uptime() - origin.startedAt));
      const book = createPointBook({ isAdopted: origin.isAdopted, adoptedMs: now() });
      const runEnded = new AbortController();
      const { ready, readFiles } = openMetricsReader(origin, book, now, deps);
      const sending = ship(origin, { book, readFiles }, runEnded.signal, deps);
      openCurves.add(sending);
      void sending.then(() => openCurves.delete(sending));
      void watchGpus(book, now, runEnded.signal, deps);
      return {
        ready,
        note: (figures, isOld) => book.note(figures, now(), isOld),
        finish: () => runEnded.abort(),
        done: sending,
      };
    },
    async drained(withinMs) {
      const done = new AbortController();
      void Promise.allSettled(openCurves).then(() => done.abort());
      await pause(deps.clock, withinMs, done.signal);
    },
  };
}

/**
 * Opens the metrics files, and skips the content that earlier attempts wrote. After a restart of the agent, skips
 * nothing, because the orchestrator reports which points it already has.
 */
function openMetricsReader(
  { outputDir, isAdopted, onProgress }: CurveOrigin,
  book: PointBook,
  now: () => number,
  { files: source, clock }: CurveDeps,
): { readonly ready: Promise<void>; readonly readFiles: ReadMetricsFiles } {
  if (source === undefined || outputDir === null)
    return { ready: Promise.resolve(), readFiles: () => Promise.resolve(false) };
  const files = source.open(outputDir);
  const ready = isAdopted ? Promise.resolve() : files.skipEarlier().catch(() => {});
  return {
    ready,
    readFiles: createMetricsReader({ files, book, now, clock, wall: source.wall, onProgress }),
  };
}

/**
 * Sends points while the run lasts, and then the rest. Resolves with true when all points are sent or the orchestrator
 * refuses them, and with false when the agent ends.
 */
async function ship(
  origin: CurveOrigin,
  { book, readFiles }: { readonly book: PointBook; readonly readFiles: ReadMetricsFiles },
  runEnded: AbortSignal,
  deps: CurveDeps,
): Promise<boolean> {
  const { clock, random, ended } = deps;
  const backoff = createBackoff({ ...loopWaits.metrics, random });
  const untilRunEnds = AbortSignal.any([runEnded, ended]);
  let waitMs = sendEveryMs;
  while (!ended.aborted) {
    // After the run has ended, wait only to retry a call.
    await pause(clock, waitMs, runEnded.aborted ? ended : untilRunEnds);
    if (ended.aborted) return false;
    // If the run ends during a send, one more round is necessary, because the run may have added another point.
    const isLast = runEnded.aborted;
    const isBehind = await readFiles();
    book.closeStep();
    const sent = await sendAll(origin, book, deps);
    if (sent === 'refused' || (sent === 'sent' && isLast && !isBehind && book.isEmpty())) return true;
    if (sent === 'sent') backoff.reset();
    if (sent === 'later') waitMs = loopWaits.metrics.baseMs + backoff.nextMs();
    else waitMs = runEnded.aborted ? 0 : sendEveryMs;
  }
  return false;
}

/** Sends batches until one is not full. Points that are added during a call wait for the next round. */
async function sendAll(
  { jobId, attemptId }: CurveOrigin,
  book: PointBook,
  { api, ended }: CurveDeps,
): Promise<'sent' | 'later' | 'refused'> {
  while (!book.isEmpty() && !ended.aborted) {
    const mustAskForNumber = !book.isNumbered();
    const batch = mustAskForNumber ? [] : book.batch();
    const result = await api.uploadPoints(jobId, attemptId, batch);
    if (!result.ok) {
      const decision = decide('metrics', result.failure);
      if (decision === 'retry') return 'later';
      if (decision === 'stop' || mustAskForNumber) return 'refused';
      book.taken((batch.at(-1)?.n ?? 0) + 1);
    } else if (mustAskForNumber) book.number(result.value);
    else {
      if (!book.taken(result.value.next)) return 'later';
      if (batch.length < maxBatchPoints) return 'sent';
    }
  }
  return 'sent';
}

/** Adds GPU metrics while the trainer runs. A driver that hangs delays only the next query. */
async function watchGpus(
  book: PointBook,
  now: () => number,
  runEnded: AbortSignal,
  { clock, gpuFigures, ended }: CurveDeps,
): Promise<void> {
  const untilRunEnds = AbortSignal.any([runEnded, ended]);
  let everyMs = probeEveryMs;
  while (await pause(clock, everyMs, untilRunEnds)) {
    const probed = gpuFigures().catch(() => null);
    const timeout = new AbortController();
    const late = pause(clock, probeTimeoutMs, AbortSignal.any([untilRunEnds, timeout.signal])).then(
      () => 'late' as const,
    );
    const values = await Promise.race([probed, late]);
    timeout.abort();
    if (untilRunEnds.aborted) return;
    everyMs = values === 'late' || values === null ? slowProbeEveryMs : probeEveryMs;
    if (values !== 'late' && values !== null) book.add(values, now());
  }
}
