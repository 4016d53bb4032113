import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobId } from '../../../protocol/ids.ts';
import type { Clock, Log } from '../../orchestrator/ports/index.ts';
import { type LogBounds, type OpenLog, openLog } from './log-writing.ts';

/**
 * Sync interval in ms. A power failure can lose the acknowledged output of this period. The rig still has it and resends it.
 */
const syncAfterMs = 3_000;
/** Time in ms without reads and writes after which a log is closed. */
const idleMs = 60_000;

export interface OpenLogCacheDeps {
  readonly folder: string;
  readonly bounds: LogBounds;
  readonly clock: Clock;
  readonly log: Log;
}

interface CachedLog {
  readonly job: JobId;
  readonly log: OpenLog;
  usedAt: number;
  isDirty: boolean;
  /** Whether a sync or close is already queued. */
  isDue: boolean;
}

/** Keeps logs open and serializes the operations of each job. */
export function createOpenLogCache(deps: OpenLogCacheDeps) {
  const { folder, clock } = deps;
  const cached = new Map<string, CachedLog>();
  const jobLocks = createJobLocks();
  const listeners = createListeners();
  const { open: openCached, drop, sync } = createCachedLogs(deps, cached);
  let isClosed = false;
  let cancelTimer: (() => void) | null = null;

  /** Opens a log, which may be empty. Call it only inside `inTurn` for the job. */
  const open = async (job: JobId, attempt: number): Promise<OpenLog> => {
    const opened = await openCached(job, nameOf(job, attempt));
    schedule();
    return opened;
  };
  const syncOrDrop = async (name: string, cachedLog: CachedLog): Promise<void> => {
    cachedLog.isDue = false;
    await sync(name);
    if (clock.mono() - cachedLog.usedAt >= idleMs) await drop(name);
  };
  const round = (): void => {
    cancelTimer = null;
    for (const [name, cachedLog] of cached) {
      // The previous round may not be finished on a slow disk.
      if (cachedLog.isDue) continue;
      cachedLog.isDue = true;
      void jobLocks.take(cachedLog.job, () => syncOrDrop(name, cachedLog));
    }
    schedule();
  };
  const schedule = (): void => {
    if (!isClosed && cached.size > 0) cancelTimer ??= clock.after(syncAfterMs, round);
  };
  return {
    isClosed: () => isClosed,
    inTurn: jobLocks.take,
    open,
    drop: (job: JobId, attempt: number) => drop(nameOf(job, attempt)),
    /** Returns null when there is no log. */
    async look(job: JobId, attempt: number): Promise<OpenLog | null> {
      const cachedLog = cached.get(nameOf(job, attempt));
      if (cachedLog !== undefined) cachedLog.usedAt = clock.mono();
      const log = cachedLog?.log ?? (await jobLocks.take(job, () => open(job, attempt)));
      return log.segments.length === 0 ? null : log;
    },
    noteChange(job: JobId, attempt: number, isSynced: boolean): void {
      const cachedLog = cached.get(nameOf(job, attempt));
      if (cachedLog !== undefined) cachedLog.isDirty = !isSynced;
      listeners.call(nameOf(job, attempt));
    },
    watch: (job: JobId, attempt: number, listener: () => void) =>
      listeners.add(nameOf(job, attempt), listener),
    remove: (job: JobId): Promise<void> =>
      jobLocks.take(job, async () => {
        for (const [name, known] of cached) if (known.job === job) await drop(name);
        await rm(join(folder, job), { recursive: true, force: true });
        listeners.callAll(`${job}/`);
      }),
    async close(): Promise<void> {
      isClosed = true;
      cancelTimer?.();
      await jobLocks.whenIdle();
      for (const name of cached.keys()) {
        await sync(name);
        await drop(name);
      }
    },
  };
}

function createCachedLogs({ folder, bounds, clock, log }: OpenLogCacheDeps, cached: Map<string, CachedLog>) {
  const drop = async (name: string): Promise<void> => {
    const cachedLog = cached.get(name);
    cached.delete(name);
    await cachedLog?.log.close().catch(() => undefined);
  };
  return {
    drop,
    async open(job: JobId, name: string): Promise<OpenLog> {
      const cachedLog = cached.get(name);
      if (cachedLog !== undefined) {
        cachedLog.usedAt = clock.mono();
        return cachedLog.log;
      }
      const opened = await openLog(join(folder, name), bounds);
      cached.set(name, { job, log: opened, usedAt: clock.mono(), isDirty: false, isDue: false });
      return opened;
    },
    async sync(name: string): Promise<void> {
      const cachedLog = cached.get(name);
      if (!cachedLog?.isDirty) return;
      cachedLog.isDirty = false;
      try {
        await cachedLog.log.sync();
      } catch (cause) {
        // The state on disk is unknown; reopening the log checks it.
        log.warn('log.not_synced', { job_id: cachedLog.job, cause });
        await drop(name);
      }
    },
  };
}

const nameOf = (job: JobId, attempt: number): string => `${job}/${attempt}`;

/** Runs operations one at a time per job. */
function createJobLocks() {
  const last = new Map<JobId, Promise<unknown>>();
  return {
    take<T>(key: JobId, act: () => Promise<T>): Promise<T> {
      const turn = (last.get(key) ?? Promise.resolve()).then(act);
      const done = turn
        .catch(() => undefined)
        .then(() => {
          if (last.get(key) === done) last.delete(key);
        });
      last.set(key, done);
      return turn;
    },
    async whenIdle(): Promise<void> {
      while (last.size > 0) await Promise.all(last.values());
    },
  };
}

function createListeners() {
  const listeners = new Map<string, Set<() => void>>();
  return {
    add(name: string, listener: () => void): () => void {
      const ofName = listeners.get(name) ?? new Set();
      listeners.set(name, ofName.add(listener));
      return () => {
        ofName.delete(listener);
        if (ofName.size === 0 && listeners.get(name) === ofName) listeners.delete(name);
      };
    },
    call: (name: string) => listeners.get(name)?.forEach(listener => listener()),
    callAll(prefix: string): void {
      for (const [name, ofName] of listeners)
        if (name.startsWith(prefix)) ofName.forEach(listener => listener());
    },
  };
}
