/** Updates of the app itself: when to check, what the user sees, and when the app may restart. */
import type { AppUpdate, UpdateProblem, UpdateStep } from '../../../protocol/desktop-api.ts';
import type { ScopedLog } from '../../host/log.ts';

export interface NewVersion {
  readonly version: string;
  readonly notes: string;
}

/**
 * Reads the feed (the list of published versions), and downloads and installs versions. All methods report errors by throwing or
 * rejecting.
 */
export interface Updater {
  /** Resolves with null when the feed has no version that is newer than this one. */
  check(): Promise<NewVersion | null>;
  download(onProgress: (bytes: number, totalBytes: number) => void): Promise<void>;
  /** Throws when the current version cannot be overwritten. */
  checkWritable(): void;
  /** Replaces this version, starts the new one, and quits. */
  install(): void;
}

export interface AppUpdatesDeps {
  readonly updater: Updater;
  readonly log: Pick<ScopedLog, 'warn'>;
  readonly now: () => number;
  readonly after: (ms: number, run: () => void) => () => void;
  /** Returns the number of running jobs of this computer's orchestrator. */
  readonly runningJobs: () => number;
  /** Asks whether to restart although jobs run. */
  readonly ask: (jobs: number) => Promise<RestartChoice>;
  /** Stops everything in the app, and then calls `install`. */
  readonly restart: (install: () => void) => Promise<void>;
  /** Tells the user once that there is a newer version. */
  readonly announce: (version: string) => void;
}

export type RestartChoice = 'now' | 'after_jobs' | 'cancel';

export interface AppUpdates {
  view(): AppUpdate;
  /** Starts a step if the state allows it. */
  start(step: UpdateStep): void;
  /** Called when the number of running jobs may have changed. */
  noteJobs(): void;
  stop(): void;
}

/** Delay of the first check, so that it does not slow down the start of the app. */
const firstCheckMs = 10_000;
const checkIntervalMs = 24 * 3_600_000;

/** Checks for a newer version soon after the start and every day. Downloads and installs only when the user requests it. */
export function createAppUpdates(deps: AppUpdatesDeps): AppUpdates {
  const { updater, log, now, after } = deps;
  let state: AppUpdate = { state: 'current', checked_at: null };
  let cancelCheck = (): void => {};

  const fail = (step: UpdateStep, cause: unknown): void => {
    state = { state: 'failed', step, ...problemOf(cause) };
    log.warn('update.failed', { step, cause });
  };
  /** With `isQuiet`, a failure does not change the state, because the user did not request the check. */
  const check = async (isQuiet: boolean): Promise<void> => {
    if (!['current', 'available', 'failed'].includes(state.state)) return;
    const before = state;
    state = { state: 'checking' };
    try {
      const found = await updater.check();
      state = found === null ? { state: 'current', checked_at: now() } : { state: 'available', ...found };
      if (found !== null && isQuiet) deps.announce(found.version);
    } catch (cause) {
      if (!isQuiet) return fail('check', cause);
      state = before;
      log.warn('update.failed', { step: 'check', cause });
    }
  };
  const download = async (): Promise<void> => {
    if (state.state !== 'available') return;
    const { version, notes } = state;
    state = { state: 'downloading', version, notes, bytes: 0, total_bytes: 0 };
    try {
      await updater.download((bytes, totalBytes) => {
        if (state.state === 'downloading') state = { ...state, bytes, total_bytes: totalBytes };
      });
      state = { state: 'ready', version, notes, waits_for_jobs: false };
    } catch (cause) {
      fail('download', cause);
    }
  };
  const restart = async (): Promise<void> => {
    try {
      updater.checkWritable();
      await deps.restart(updater.install);
    } catch (cause) {
      fail('install', cause);
    }
  };
  const install = async (): Promise<void> => {
    if (state.state !== 'ready') return;
    const jobs = deps.runningJobs();
    const choice = jobs === 0 ? 'now' : await deps.ask(jobs);
    state = { ...state, waits_for_jobs: choice === 'after_jobs' };
    if (choice === 'now') await restart();
  };
  const schedule = (ms: number): void => {
    cancelCheck = after(ms, () => void check(true).finally(() => schedule(checkIntervalMs)));
  };
  schedule(firstCheckMs);
  const steps = { check: () => check(false), download, install };
  return {
    view: () => state,
    start: step => void steps[step](),
    noteJobs() {
      if (state.state !== 'ready' || !state.waits_for_jobs || deps.runningJobs() > 0) return;
      state = { ...state, waits_for_jobs: false };
      void restart();
    },
    stop: () => cancelCheck(),
  };
}

/** Maps error codes of electron-updater, the network and the file system to problems. */
const problems: readonly (readonly [RegExp, UpdateProblem])[] = [
  [/^ERR_CHECKSUM_MISMATCH$/, 'wrong_hash'],
  [/^ERR_UPDATER_CHANNEL_FILE_NOT_FOUND$|^HTTP_ERROR_404$/, 'no_feed_file'],
  [/^(?:EACCES|EPERM|EROFS|ENOSPC)$/, 'not_writable'],
  [/^(?:ERR_NETWORK|ECONN|ENOTFOUND|ETIMEDOUT|HTTP_ERROR_)/, 'unreachable'],
];

function problemOf(cause: unknown): { readonly problem: UpdateProblem; readonly detail: string } {
  const { code, message } = toError(cause);
  const isNetwork = message.startsWith('net::ERR_');
  const found = problems.find(([pattern]) => pattern.test(code))?.[1];
  const [firstLine = ''] = message.split('\n');
  return { problem: found ?? (isNetwork ? 'unreachable' : 'other'), detail: firstLine.slice(0, 500) };
}

function toError(cause: unknown): { readonly code: string; readonly message: string } {
  if (!(cause instanceof Error)) return { code: '', message: String(cause) };
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  return { code, message: cause.message };
}
