import type { AttemptId, JobId } from '../protocol/ids.ts';
import type { MetricPoint } from '../protocol/metrics-api.ts';
import type { Progress } from '../protocol/progress.ts';
import { type ApiClient, isRetryable } from './api-client.ts';
import { createBackoff, pause } from './backoff.ts';
import type { Clock } from './clock.ts';
import { createFileLook, type FileLook } from './file-look.ts';
import type { MetricsFiles } from './metrics-files/index.ts';
import { createPointBook, type Figures, maxBatchPoints, type PointBook } from './point-book.ts';

export interface CurveParts {
  readonly clock: Clock;
  /** ms; see `machineUptime`. */
  readonly uptime: () => number;
  readonly api: Pick<ApiClient, 'bring'>;
  readonly random: () => number;
  /** Figures of the GPUs, as of now; may take its time, and may never come. */
  readonly gpuFigures: () => Promise<MetricPoint['values']>;
  /** Reads what a trainer writes below its output folder; nothing is read there unless given. */
  readonly files?: {
    readonly open: (outputDir: string) => MetricsFiles;
    /** ms since 1970. */
    readonly wall: () => number;
  };
  /** Fires when the agent ends: what is still here then is lost, unless it is in the log of a run that goes on. */
  readonly ended: AbortSignal;
}

export interface CurveOrigin {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  /** When the attempt was claimed, in ms of the machine's uptime: it is on the disk, so that a restart of the agent changes nothing. */
  readonly startedAt: number;
  /** An earlier process of the agent has sent some of it. */
  readonly isAdopted: boolean;
  /** Where its trainer writes; null when that is not known. */
  readonly outputDir: string | null;
  /** What files say of how far the training is. */
  readonly onProgress?: (progress: Progress) => void;
}

/** The curve of one attempt. */
export interface Curve {
  /** Resolves when it is known which files are not this attempt's: the trainer may start then. */
  readonly ready: Promise<void>;
  note(figures: Figures, isOld: boolean): void;
  /** The run has ended: what is left is sent at once. */
  finish(): void;
  /** True when nothing more is to be sent; false when the agent ended before that. */
  readonly done: Promise<boolean>;
}

export interface Curves {
  open(origin: CurveOrigin): Curve;
  /** Resolves when all that was finished has been sent, or after so long. */
  settled(withinMs: number): Promise<void>;
}

const sendEveryMs = 5_000;
const lookEveryMs = 10_000;
/** A look that has not come by then is not waited for, and the next one is later: each may leave a process behind. */
const lookPatienceMs = 15_000;
const slowLookEveryMs = 120_000;

/** Sends the points of what runs, every few seconds, for as long as something runs. */
export function createCurves(parts: CurveParts): Curves {
  const under = new Set<Promise<boolean>>();
  return {
    open(origin) {
      const now = (): number => Math.max(0, Math.round(parts.uptime() - origin.startedAt));
      const book = createPointBook({ isAdopted: origin.isAdopted, adoptedMs: now() });
      const over = new AbortController();
      const { ready, look } = openLook(origin, book, now, parts);
      const sending = ship(origin, { book, look }, over.signal, parts);
      under.add(sending);
      void sending.then(() => under.delete(sending));
      void watchGpus(book, now, over.signal, parts);
      return {
        ready,
        note: (figures, isOld) => book.note(figures, now(), isOld),
        finish: () => over.abort(),
        done: sending,
      };
    },
    async settled(withinMs) {
      const done = new AbortController();
      void Promise.allSettled(under).then(() => done.abort());
      await pause(parts.clock, withinMs, done.signal);
    },
  };
}

/** What the trainer has written before it starts is left out; after a restart of the agent the orchestrator says what it has. */
function openLook(
  { outputDir, isAdopted, onProgress }: CurveOrigin,
  book: PointBook,
  now: () => number,
  { files: source, clock }: CurveParts,
): { readonly ready: Promise<void>; readonly look: FileLook } {
  if (source === undefined || outputDir === null)
    return { ready: Promise.resolve(), look: () => Promise.resolve(false) };
  const files = source.open(outputDir);
  const ready = isAdopted ? Promise.resolve() : files.skipEarlier().catch(() => {});
  return { ready, look: createFileLook({ files, book, now, clock, wall: source.wall, onProgress }) };
}

/** Until the run is over and all of it is there, or nobody wants it, or the agent ends. */
async function ship(
  origin: CurveOrigin,
  { book, look }: { readonly book: PointBook; readonly look: FileLook },
  over: AbortSignal,
  parts: CurveParts,
): Promise<boolean> {
  const { clock, random, ended } = parts;
  const backoff = createBackoff({ firstMs: 1_000, mostMs: 30_000, random });
  const either = AbortSignal.any([over, ended]);
  let waitMs = sendEveryMs;
  while (!ended.aborted) {
    // After the end nothing is waited for but an orchestrator that does not answer.
    await pause(clock, waitMs, over.aborted ? ended : either);
    if (ended.aborted) return false;
    // An end that comes while points are on their way may bring one more.
    const isLast = over.aborted;
    const isBehind = await look();
    book.settle();
    const sent = await sendAll(origin, book, parts);
    if (sent === 'refused' || (sent === 'sent' && isLast && !isBehind && book.isEmpty())) return true;
    if (sent === 'sent') backoff.reset();
    waitMs = sent === 'later' ? 500 + backoff.nextMs() : over.aborted ? 0 : sendEveryMs;
  }
  return false;
}

/** Sends full batches until a smaller one. Points that arrive during a send wait for the next turn. */
async function sendAll(
  { jobId, attemptId }: CurveOrigin,
  book: PointBook,
  { api, ended }: CurveParts,
): Promise<'sent' | 'later' | 'refused'> {
  while (!book.isEmpty() && !ended.aborted) {
    const isQuestion = !book.isNumbered();
    const batch = isQuestion ? [] : book.batch();
    const result = await api.bring(jobId, attemptId, batch);
    if (result.ok && isQuestion) book.number(result.value);
    else if (result.ok) {
      if (!book.taken(result.value.next)) return 'later';
      if (batch.length < maxBatchPoints) return 'sent';
    } else if (isRetryable(result.failure)) return 'later';
    // These points can't be read there, and the next ones may be.
    else if (!isQuestion && result.failure.kind === 'problem' && result.failure.status === 400)
      book.taken((batch.at(-1)?.n ?? 0) + 1);
    else return 'refused';
  }
  return 'sent';
}

/** While the trainer runs. What hangs is a driver, and holds up nothing but the next look. */
async function watchGpus(
  book: PointBook,
  now: () => number,
  over: AbortSignal,
  { clock, gpuFigures, ended }: CurveParts,
): Promise<void> {
  const either = AbortSignal.any([over, ended]);
  let everyMs = lookEveryMs;
  while (await pause(clock, everyMs, either)) {
    const looked = gpuFigures().catch(() => null);
    const patience = new AbortController();
    const late = pause(clock, lookPatienceMs, AbortSignal.any([either, patience.signal])).then(
      () => 'late' as const,
    );
    const values = await Promise.race([looked, late]);
    patience.abort();
    if (either.aborted) return;
    everyMs = values === 'late' || values === null ? slowLookEveryMs : lookEveryMs;
    if (values !== 'late' && values !== null) book.add(values, now());
  }
}
