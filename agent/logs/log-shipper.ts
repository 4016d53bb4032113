import type { CallFailure, CallResult } from '../../protocol/client.ts';
import { maxChunk, type LogChunkBody, type workerLogsApi } from '../../protocol/logs-api.ts';
import type { Clock } from '../clock.ts';
import { createLogFeed, type LogFeedDeps } from './log-feed.ts';
import { decide, loopWaits, waits } from '../retry/decisions.ts';
import { createBackoff, pause, retry, type RetryAnswer } from '../retry/retry.ts';

/** The rate limit that all logs of a rig share. */
export interface LogPace {
  /** Resolves with true when the bytes may be sent, or with false when the signal fires first. */
  wait(bytes: number, signal: AbortSignal): Promise<boolean>;
}

/** The maximum rate of all logs of a rig together. */
const bytesPerS = 4 * 1024 * 1024;

export function createLogPace(clock: Clock): LogPace {
  let freeAt = 0;
  return {
    async wait(bytes, signal) {
      const now = clock.mono();
      const waitMs = Math.max(0, freeAt - now);
      freeAt = now + waitMs + (bytes / bytesPerS) * 1000;
      return waitMs === 0 ? !signal.aborted : pause(clock, waitMs, signal);
    },
  };
}

/** Sends an attempt's log to the orchestrator. */
export interface LogShipper {
  /** Resolves when the shipper has ended, with the reason. */
  readonly done: Promise<LogEnd>;
  /** Call when the output of the trainer is complete. */
  finish(): void;
  /** Ends at the first failed call from now on. Ends immediately if the log is not finished. */
  hurry(): void;
  stop(): void;
}

/**
 * Why a shipper ended. `complete`: the orchestrator acknowledged the end of the log. `unwanted`: the orchestrator rejects
 * the rest of this log. `older_orchestrator`: its version does not support logs. `expired`: sending has failed for too
 * long. `left`: the agent exits, and its next process continues.
 */
export type LogEnd = 'complete' | 'unwanted' | 'older_orchestrator' | 'expired' | 'left';

export interface LogShipperDeps extends LogFeedDeps {
  readonly attemptId: LogChunkBody['attempt_id'];
  readonly ship: (chunk: LogChunkBody, signal: AbortSignal) => Promise<CallResult<typeof workerLogsApi.ship>>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly pace: LogPace;
  /** The shipper gives up a finished log that cannot be sent after this time in ms. */
  readonly giveUpAfterMs: number;
  /** Fires when the agent has ended. */
  readonly signal: AbortSignal;
}

const logEnds = { older: 'older_orchestrator', stop: 'unwanted', expired: 'expired' } as const;

const pauseMs = 750;
/** Chunks are never made smaller than this, in characters. */
const minChunk = 16_384;

/**
 * Sends new output, one chunk at a time, without delaying other calls. It stores no state: the orchestrator's responses
 * contain the end of its copy of the log, and the rest is on disk.
 */
export function createLogShipper(deps: LogShipperDeps): LogShipper {
  const { attemptId, clock, random, pace } = deps;
  const finished = new AbortController();
  const hurried = new AbortController();
  const stopped = new AbortController();
  const signal = AbortSignal.any([deps.signal, stopped.signal]);
  const untilHurried = AbortSignal.any([signal, hurried.signal]);
  let expiresAt = Number.POSITIVE_INFINITY;
  let limit = maxChunk;

  /**
   * Retries a chunk until there is a final response. Resolves with the end of the orchestrator's copy of the log, or with
   * the reason why the chunk was not accepted.
   */
  const deliver = async (chunk: LogChunkBody): Promise<number | 'smaller' | LogEnd> => {
    const send = async (): Promise<RetryAnswer<number | 'left', CallFailure>> => {
      const isFree = await pace.wait(chunk.text.length, signal);
      const result = isFree ? await deps.ship(chunk, signal) : null;
      if (result === null || signal.aborted) return { ok: true, value: 'left' };
      return result.ok ? { ok: true, value: result.value.next } : result;
    };
    const end = await retry(send, {
      clock,
      random,
      signal,
      waitSignal: untilHurried,
      waits: waits.log,
      decide: failure => {
        const decision = decide('log', failure);
        return decision === 'retry' && clock.mono() > expiresAt ? 'expired' : decision;
      },
    });
    if (end.kind === 'done') return end.value;
    if (end.kind === 'aborted') return 'left';
    if (end.decision === 'smaller') return limit > minChunk ? 'smaller' : 'unwanted';
    return logEnds[end.decision];
  };

  const run = async (): Promise<LogEnd> => {
    const misses = createBackoff({ ...loopWaits.logOffset, random });
    let next = await deliver({ attempt_id: attemptId, after: 0, from: 0, to: 0, text: '' });
    let after = 0;
    while (typeof next === 'number' || next === 'smaller') {
      if (next === 'smaller') limit /= 2;
      else after = next;
      const feed = await createLogFeed(deps, after, limit);
      let isAccepted = true;
      while (isAccepted) {
        const isOver = finished.signal.aborted;
        const piece = await feed.next(isOver);
        if (signal.aborted) return 'left';
        if (piece === null) {
          await pause(clock, pauseMs, AbortSignal.any([untilHurried, finished.signal]));
          if (signal.aborted) return 'left';
          continue;
        }
        const { isLast, ...rest } = piece;
        next = await deliver({ attempt_id: attemptId, after, ...rest, is_last: isLast });
        isAccepted = next === piece.to;
        if (isAccepted) after = piece.to;
        if (isAccepted && isLast) return 'complete';
        if (isAccepted) misses.reset();
        if (isAccepted && feed.isCaughtUp())
          await pause(clock, pauseMs, AbortSignal.any([untilHurried, finished.signal]));
      }
      // Continue at the orchestrator's offset. Pauses grow if its offset is unexpected again and again.
      if (typeof next === 'number' && !(await pause(clock, misses.nextMs(), untilHurried))) return 'left';
    }
    return next;
  };

  return {
    done: run(),
    finish() {
      expiresAt = Math.min(expiresAt, clock.mono() + deps.giveUpAfterMs);
      finished.abort();
    },
    hurry() {
      if (finished.signal.aborted) hurried.abort();
      else stopped.abort();
    },
    stop: () => stopped.abort(),
  };
}

/** Waits up to this time for finished logs, while the orchestrator answers. Stops unfinished logs immediately. */
export async function leaveLogs(
  shippers: readonly LogShipper[],
  withinMs: number,
  clock: Clock,
): Promise<void> {
  for (const shipper of shippers) shipper.hurry();
  const allDone = new AbortController();
  void Promise.all(shippers.map(({ done }) => done)).then(() => allDone.abort());
  await pause(clock, withinMs, allDone.signal);
}
