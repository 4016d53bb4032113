import { createOutputBook, type OutputBook, type OutputBookDeps } from './output-book.ts';
import { type OutputEnd, createSender, type Sender } from './output-sender.ts';
import type { Output, UploadScope } from './outputs.ts';
import { describeFailure, formatBytes } from '../files/failure-text.ts';
import { decide, loopWaits, policyOf } from '../retry/decisions.ts';
import { createBackoff, pause, retry } from '../retry/retry.ts';
import type { UploadDeps } from './upload.ts';

/** Uploads the files that a trainer writes. */
export interface ArtifactUploader {
  /**
   * Resolves when the uploads have ended: with false if the agent ended first, and a later process must continue the
   * uploads.
   */
  readonly done: Promise<boolean>;
  /** Returns the checkpoints that the last scan found and whose current content is completely on the server. */
  stored(): readonly Output[];
  /** From now on, uploads only checkpoints, and scans for them more often. */
  hasten(): void;
  /**
   * Call when the trainer has ended, and its files no longer change. `completed`: uploads everything, without a time
   * limit, until the server closes the uploads. `preempted`: uploads only checkpoints, and retries nothing. `killed`:
   * like `preempted`, but skips checkpoints that may be incomplete, because the trainer may have been writing them.
   * `stopped`: uploads only event files of TensorBoard, and retries nothing.
   */
  finish(end: UploadsEnd): void;
  /** Ends the uploads for good, even when files are left. */
  stop(): void;
}

export type UploadsEnd = 'completed' | 'preempted' | 'killed' | 'stopped';

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
/** After this time in ms, the uploader scans again before it uploads the next output. */
const rescanMs = 5_000;
/** The pause after the server has rejected uploads of this attempt. The server may accept later uploads. */
const rejectedPauseMs = 60_000;

/**
 * Starts to upload in the background: one output after the other, the most important first. Skips outputs that are still
 * being written.
 */
export function createArtifactUploader(deps: ArtifactUploaderDeps): ArtifactUploader {
  const { clock, root, images, startedAt, log, random } = deps;
  const phase = createPhase(deps);
  const { trainerEnded, signal } = phase;
  const logOnce = createLogOnce(log);
  const onFlaw = (flaw: string): void => logOnce(`Some files in ${root} are not uploaded: ${flaw}`);
  const book = createOutputBook({ root, images, clock, startedAt, onFlaw });
  const backoff = createBackoff({ ...loopWaits.outputs, random });
  const reportOutstandingFiles = createOutstandingReporter({ ...deps, signal }, book);
  let sender: Sender | null = null;
  let isLast = false;
  let noRoomReason: string | null = null;

  const upload = async (output: Output, currentSender: Sender): Promise<OutputEnd> => {
    const end = await currentSender.upload(output);
    book.recordEnd(output, end);
    if (end.kind === 'uploaded') backoff.reset();
    const isOnServer = end.kind === 'uploaded' || end.kind === 'already_stored';
    if (isOnServer && output.kind === 'checkpoint') deps.onCheckpoint?.(output);
    if (end.kind === 'no_room') noRoomReason = end.why;
    logEnd(output, end, log, logOnce);
    return end;
  };

  const finalPauseMs = (): number => loopWaits.outputs.baseMs + backoff.nextMs();
  /** Returns the pause in ms while the server accepts no uploads of this attempt; null to give up. */
  const waitForServer = (): number | null => {
    if (phase.ending() === null) return rejectedPauseMs;
    return phase.ending() === 'completed' ? finalPauseMs() : null;
  };
  /** Returns the pause in ms while nothing is due; null when the uploads are done. */
  const findIdlePause = async (scanMs: number, hasEnded: boolean): Promise<number | null> => {
    if (!hasEnded) return phase.isHasty() ? hastyPauseMs : scanPauseMs(scanMs);
    if (phase.ending() !== 'completed' || (await reportOutstandingFiles(phase.which(), noRoomReason)))
      return null;
    book.retryWithoutRoom();
    return finalPauseMs();
  };

  /**
   * Scans once, and uploads the outputs that are due. Returns the pause until the next scan in ms; null when the
   * uploads are done.
   */
  const uploadDue = async (): Promise<number | null> => {
    const hasEnded = trainerEnded.aborted;
    if (hasEnded && !isLast) {
      isLast = true;
      // The trainer may have uploaded some files itself, so list them again. Also retry outputs that had no room.
      sender = null;
      book.retryWithoutRoom();
    }
    const scanStartedAt = clock.mono();
    const isBehind = await book.scan(phase.which());
    const now = clock.mono();
    const due = book.due(hasEnded, phase.which(), phase.killedAt());
    if (due.length === 0) return isBehind ? 0 : findIdlePause(now - scanStartedAt, hasEnded);
    if (sender === null) {
      const stored = await listStored({ ...deps, signal }, logOnce);
      if (typeof stored === 'string') return stored === 'closed' ? null : waitForServer();
      book.recordListing(stored.keys());
      sender = createSender(stored, { ...deps, pathOf: book.pathOf, signal });
      return 0;
    }
    let waitMs = 0;
    for (const output of due) {
      const { kind } = await upload(output, sender);
      if (kind === 'closed') return null;
      if (kind === 'over') return waitForServer();
      if (kind === 'changed') waitMs = minPauseMs;
      // Scan again, because a more important output may have appeared.
      if (signal.aborted || clock.mono() - now > rescanMs || trainerEnded.aborted !== hasEnded) break;
    }
    return waitMs;
  };

  const run = async (): Promise<boolean> => {
    while (!signal.aborted) {
      const waitMs = await uploadDue();
      if (waitMs === null && !signal.aborted) return true;
      if (waitMs) await pause(clock, waitMs, phase.pauseSignal());
    }
    return phase.isStopped();
  };
  const { hasten, finish, stop } = phase;
  return { done: run(), stored: book.storedCheckpoints, hasten, finish, stop };
}

/** Tracks whether the trainer runs, will be stopped soon, or has ended, and which outputs to upload in that phase. */
function createPhase({ which, clock, signal: ended }: ArtifactUploaderDeps) {
  const trainerEnded = new AbortController();
  const hasty = new AbortController();
  const stopped = new AbortController();
  const signal = AbortSignal.any([ended, stopped.signal]);
  const untilTrainerEnds = AbortSignal.any([signal, trainerEnded.signal]);
  const untilHasty = AbortSignal.any([untilTrainerEnds, hasty.signal]);
  let ending: UploadsEnd | null = null;
  let killedAt: number | null = null;
  return {
    /** Fires when the trainer has ended. */
    trainerEnded: trainerEnded.signal,
    /** Fires when the uploads must end. */
    signal,
    ending: () => ending,
    killedAt: () => killedAt,
    isHasty: () => hasty.signal.aborted,
    isStopped: () => stopped.signal.aborted,
    which(): UploadScope {
      if (ending === 'stopped') return 'events';
      if (ending === 'completed') return which;
      const isUnhurried = ending === null && !hasty.signal.aborted;
      return isUnhurried ? which : 'checkpoints';
    },
    /**
     * Returns the signal that ends a pause. It leaves out signals that have fired, because they would end every pause
     * immediately.
     */
    pauseSignal(): AbortSignal {
      if (trainerEnded.signal.aborted) return signal;
      return hasty.signal.aborted ? untilTrainerEnds : untilHasty;
    },
    hasten: () => hasty.abort(),
    finish(end: UploadsEnd): void {
      ending = end;
      if (end === 'killed') killedAt = clock.mono();
      trainerEnded.abort();
    },
    stop: () => stopped.abort(),
  };
}

/** Returns the pause after a scan in ms: the longer the scan took, the longer the pause. */
const scanPauseMs = (scanMs: number): number => Math.min(maxPauseMs, Math.max(minPauseMs, 20 * scanMs));

/**
 * Creates a function that reports to the server which files a completed attempt has not uploaded. The function skips a
 * report that equals the last one. It resolves with true when no file is left, or when the server has closed the uploads.
 */
function createOutstandingReporter(
  { storage, signal }: Pick<ArtifactUploaderDeps, 'storage' | 'signal'>,
  book: OutputBook,
) {
  let reported = '';
  return async (which: UploadScope, why: string | null): Promise<boolean> => {
    const left = book.withoutRoom(which).flatMap(({ files }) => files);
    const bytes = left.reduce((sum, [, file]) => sum + file.bytes, 0);
    const report = { files: left.length, bytes, reason: left.length === 0 ? null : why };
    const text = JSON.stringify(report);
    if (text === reported) return false;
    const answer = await storage.reportOutstanding(report, signal);
    if (answer.ok) reported = text;
    const decision = answer.ok ? null : decide('list', answer.failure);
    if (decision === 'closed') return true;
    // An older server does not know the call, and closes the uploads after a fixed time.
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
  log(`Uploaded ${name} (${formatBytes(bytes)})`);
}

/**
 * Returns the SHA-256 of each stored file by key. `over`: uploads cannot start now. `closed`: uploads can never start, for
 * example because the server rejected the request.
 */
async function listStored(
  { storage, clock, random, signal }: ArtifactUploaderDeps,
  log: (message: string) => void,
): Promise<Map<string, string> | 'over' | 'closed'> {
  // Retry failures of the server, because every call fails while its disk is full or its database is being restored.
  const end = await retry(() => storage.list(signal), { ...policyOf('list'), clock, random, signal });
  if (end.kind === 'done') return new Map(end.value);
  if (end.kind === 'aborted') return 'over';
  if (end.decision !== 'stop') return end.decision;
  log(`The outputs of this training are not uploaded: ${describeFailure(end.failure)}`);
  return 'closed';
}
