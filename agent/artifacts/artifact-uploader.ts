import { createOutputBook, type OutputBook, type OutputBookDeps } from './output-book.ts';
import { type OutputEnd, createSender, type Sender } from './output-sender.ts';
import type { Output } from './outputs.ts';
import { describeFailure, sizeInWords } from '../files/failure-text.ts';
import { decide, loopWaits, policyOf } from '../retry/decisions.ts';
import { createBackoff, pause, retry } from '../retry/retry.ts';
import type { UploadDeps } from './upload.ts';

/** Uploads what a trainer writes to the orchestrator. */
export interface ArtifactUploader {
  /** Resolves when the uploads have ended: true when nothing is left to upload, false when the agent ended first. */
  readonly done: Promise<boolean>;
  /** The checkpoints of the last scan that are on the server as they are on this disk. */
  stored(): readonly Output[];
  /** Uploads only checkpoints from now on, and looks for them more often. */
  hasten(): void;
  /**
   * Call when the trainer has ended, and its files no longer change. `completed`: uploads everything, however long that
   * takes, until the server closes the uploads. `preempted`: uploads only checkpoints, and retries nothing. `killed`: as
   * `preempted`, but without checkpoints that the trainer may have been writing.
   */
  finish(end: UploadsEnd): void;
  stop(): void;
}

export type UploadsEnd = 'completed' | 'preempted' | 'killed';

export interface ArtifactUploaderDeps
  extends UploadDeps,
    Pick<OutputBookDeps, 'root' | 'images' | 'startedAt'> {
  readonly which: 'all' | 'checkpoints';
  readonly log: (message: string) => void;
  /** Called when the server has all files of a checkpoint. */
  readonly onCheckpoint?: (checkpoint: Output) => void;
}

const minPauseMs = 2_500;
const maxPauseMs = 60_000;
const hastyPauseMs = 1_000;
const rescanMs = 5_000;
/** The pause after the server rejects an attempt. An attempt that was given up may be accepted again. */
const overPauseMs = 60_000;

/**
 * Uploads one output after the other, the most wanted first, and only those that no process is writing any more.
 * Uploads do not delay other calls.
 */
export function createArtifactUploader(deps: ArtifactUploaderDeps): ArtifactUploader {
  const { clock, root, images, startedAt, log, random } = deps;
  const phase = createPhase(deps);
  const { over, signal } = phase;
  const logOnce = createLogOnce(log);
  const onFlaw = (flaw: string): void => logOnce(`Some files in ${root} are not uploaded: ${flaw}`);
  const book = createOutputBook({ root, images, clock, startedAt, onFlaw });
  const backoff = createBackoff({ ...loopWaits.outputs, random });
  const conclude = createConclusion({ ...deps, signal }, book);
  let sender: Sender | null = null;
  let isLast = false;
  let whyLeft: string | null = null;

  const upload = async (output: Output, by: Sender): Promise<OutputEnd> => {
    const end = await by.upload(output);
    book.note(output, end);
    if (end.kind === 'uploaded') backoff.reset();
    const isThere = end.kind === 'uploaded' || end.kind === 'there';
    if (isThere && output.kind === 'checkpoint') deps.onCheckpoint?.(output);
    if (end.kind === 'no_room') whyLeft = end.why;
    logEnd(output, end, log, logOnce);
    return end;
  };

  const finalPauseMs = (): number => loopWaits.outputs.baseMs + backoff.nextMs();
  /** Returns the pause in ms while the server accepts no uploads of this attempt; null to give up. */
  const waitForServer = (): number | null => {
    if (phase.ending() === null) return overPauseMs;
    return phase.ending() === 'completed' ? finalPauseMs() : null;
  };
  /** Call when nothing is due. Returns the pause in ms; null when the uploads are done. */
  const rest = async (scanMs: number, isOver: boolean): Promise<number | null> => {
    if (!isOver) return phase.isHasty() ? hastyPauseMs : scanPauseMs(scanMs);
    if (phase.ending() !== 'completed' || (await conclude(phase.which(), whyLeft))) return null;
    book.retry();
    return finalPauseMs();
  };

  /** Returns the pause until the next turn in ms; null when the uploads are done. */
  const turn = async (): Promise<number | null> => {
    const isOver = over.aborted;
    if (isOver && !isLast) {
      isLast = true;
      // The trainer may have uploaded some files itself, so list them again. Also retry those that had no room.
      sender = null;
      book.retry();
    }
    const beganAt = clock.mono();
    const isBehind = await book.scan(phase.which());
    const now = clock.mono();
    const due = book.due(isOver, phase.which(), phase.killedAt());
    if (due.length === 0) return isBehind ? 0 : rest(now - beganAt, isOver);
    if (sender === null) {
      const stored = await listStored({ ...deps, signal }, logOnce);
      if (typeof stored === 'string') return stored === 'closed' ? null : waitForServer();
      book.know(stored.keys());
      sender = createSender(stored, { ...deps, pathOf: book.pathOf, signal });
      return 0;
    }
    let waitMs = 0;
    for (const output of due) {
      const { kind } = await upload(output, sender);
      if (kind === 'closed') return null;
      if (kind === 'over') return waitForServer();
      if (kind === 'changed') waitMs = minPauseMs;
      // A more wanted output may have appeared.
      if (signal.aborted || clock.mono() - now > rescanMs || over.aborted !== isOver) break;
    }
    return waitMs;
  };

  const run = async (): Promise<boolean> => {
    while (!signal.aborted) {
      const waitMs = await turn();
      if (waitMs === null && !signal.aborted) return true;
      if (waitMs) await pause(clock, waitMs, phase.wakers());
    }
    return phase.isStopped();
  };
  const { hasten, finish, stop } = phase;
  return { done: run(), stored: book.storedCheckpoints, hasten, finish, stop };
}

/** The state of an attempt's trainer, as the uploads see it. */
function createPhase({ which, clock, signal: ended }: ArtifactUploaderDeps) {
  const over = new AbortController();
  const hasty = new AbortController();
  const stopped = new AbortController();
  const signal = AbortSignal.any([ended, stopped.signal]);
  const restless = AbortSignal.any([signal, over.signal]);
  const sleepy = AbortSignal.any([restless, hasty.signal]);
  let ending: UploadsEnd | null = null;
  let killedAt: number | null = null;
  return {
    /** Fires when the trainer has ended. */
    over: over.signal,
    /** Fires when the uploads must end. */
    signal,
    ending: () => ending,
    killedAt: () => killedAt,
    isHasty: () => hasty.signal.aborted,
    isStopped: () => stopped.signal.aborted,
    which: () => ((ending === null ? !hasty.signal.aborted : ending === 'completed') ? which : 'checkpoints'),
    /** Returns what ends a pause: only signals that have not fired, because no pause waits with one that has. */
    wakers(): AbortSignal {
      if (over.signal.aborted) return signal;
      return hasty.signal.aborted ? restless : sleepy;
    },
    hasten: () => hasty.abort(),
    finish(end: UploadsEnd): void {
      ending = end;
      if (end === 'killed') killedAt = clock.mono();
      over.abort();
    },
    stop: () => stopped.abort(),
  };
}

/** A scan of a large folder takes time, so it is repeated less often. */
const scanPauseMs = (scanMs: number): number => Math.min(maxPauseMs, Math.max(minPauseMs, 20 * scanMs));

/**
 * Reports what is left after a completed end, and again when that has changed. Resolves with true when the uploads are
 * closed.
 */
function createConclusion(
  { storage, signal }: Pick<ArtifactUploaderDeps, 'storage' | 'signal'>,
  book: OutputBook,
) {
  let reported = '';
  return async (which: ArtifactUploaderDeps['which'], why: string | null): Promise<boolean> => {
    const left = book.left(which).flatMap(({ files }) => files);
    const bytes = left.reduce((sum, [, found]) => sum + found.bytes, 0);
    const report = { files: left.length, bytes, reason: left.length === 0 ? null : why };
    const text = JSON.stringify(report);
    if (text === reported) return false;
    const answer = await storage.reportOutstanding(report, signal);
    if (answer.ok) reported = text;
    const decision = answer.ok ? null : decide('list', answer.failure);
    if (decision === 'closed') return true;
    // An older server does not know the call, and closes the uploads by time alone.
    return left.length === 0 && (decision === null || decision === 'stop');
  };
}

function createLogOnce(log: (message: string) => void): (message: string) => void {
  const logged = new Set<string>();
  return message => {
    if (logged.has(message)) return;
    logged.add(message);
    log(message);
  };
}

function logEnd(
  output: Output,
  end: OutputEnd,
  log: (message: string) => void,
  logOnce: (message: string) => void,
): void {
  if ('why' in end) logOnce(`${output.name} is not uploaded: ${end.why}`);
  else if (end.kind === 'uploaded' && output.kind === 'checkpoint') logUploaded(output, log);
}

function logUploaded({ name, files }: Output, log: (message: string) => void): void {
  const bytes = files.reduce((sum, [, found]) => sum + found.bytes, 0);
  log(`Uploaded ${name} (${sizeInWords(bytes)})`);
}

/** Returns the SHA-256 of each stored file by key. Returns `closed` also when the orchestrator rejects the request. */
async function listStored(
  { storage, clock, random, signal }: ArtifactUploaderDeps,
  log: (message: string) => void,
): Promise<Map<string, string> | 'over' | 'closed'> {
  // On a full disk, or while its database is replaced, the server fails every call, so those failures are retried.
  const end = await retry(() => storage.list(signal), { ...policyOf('list'), clock, random, signal });
  if (end.kind === 'done') return new Map(end.value);
  if (end.kind === 'aborted') return 'over';
  if (end.decision !== 'stop') return end.decision;
  log(`The outputs of this training are not uploaded: ${describeFailure(end.failure)}`);
  return 'closed';
}
