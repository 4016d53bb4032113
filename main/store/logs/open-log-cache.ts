import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobId } from '../../../protocol/ids.ts';
import type { Clock, Log } from '../../orchestrator/ports/index.ts';
import { type LogBounds, type OpenLog, openLog } from './log-writing.ts';

/**
 * Sync interval. A power failure may lose acknowledged output of this period; the rig still has it and sends it again.
 */
const syncAfterMs = 3_000;
/** A log without reads and writes for this long is closed. */
const idleMs = 60_000;

export interface ShelfDeps {
  readonly folder: string;
  readonly bounds: LogBounds;
  readonly clock: Clock;
  readonly log: Log;
}

interface Held {
  readonly job: JobId;
  readonly log: OpenLog;
  usedAt: number;
  isDirty: boolean;
  /** A sync or close is already queued. */
  isDue: boolean;
}

/** Keeps logs open and serializes the operations of each job. */
export function createOpenLogCache(deps: ShelfDeps) {
  const { folder, clock } = deps;
  const held = new Map<string, Held>();
  const jobLocks = createTurns();
  const listeners = createListeners();
  const { open: take, drop, sync } = createHolding(deps, held);
  let isClosed = false;
  let cancelTimer: (() => void) | null = null;

  /** Runs inside a turn of the job. The log may be empty. */
  const open = async (job: JobId, attempt: number): Promise<OpenLog> => {
    const opened = await take(job, nameOf(job, attempt));
    arm();
    return opened;
  };
  const syncOrDrop = async (name: string, known: Held): Promise<void> => {
    known.isDue = false;
    await sync(name);
    if (clock.mono() - known.usedAt >= idleMs) await drop(name);
  };
  const round = (): void => {
    cancelTimer = null;
    for (const [name, known] of held) {
      // The previous round may not be finished on a slow disk.
      if (known.isDue) continue;
      known.isDue = true;
      void jobLocks.take(known.job, () => syncOrDrop(name, known));
    }
    arm();
  };
  const arm = (): void => {
    if (!isClosed && held.size > 0) cancelTimer ??= clock.after(syncAfterMs, round);
  };
  return {
    isClosed: () => isClosed,
    inTurn: jobLocks.take,
    open,
    drop: (job: JobId, attempt: number) => drop(nameOf(job, attempt)),
    /** Returns null when there is no log. */
    async look(job: JobId, attempt: number): Promise<OpenLog | null> {
      const known = held.get(nameOf(job, attempt));
      if (known !== undefined) known.usedAt = clock.mono();
      const found = known?.log ?? (await jobLocks.take(job, () => open(job, attempt)));
      return found.segments.length === 0 ? null : found;
    },
    noteChange(job: JobId, attempt: number, isSynced: boolean): void {
      const known = held.get(nameOf(job, attempt));
      if (known !== undefined) known.isDirty = !isSynced;
      listeners.call(nameOf(job, attempt));
    },
    watch: (job: JobId, attempt: number, ear: () => void) => listeners.add(nameOf(job, attempt), ear),
    remove: (job: JobId): Promise<void> =>
      jobLocks.take(job, async () => {
        for (const [name, known] of held) if (known.job === job) await drop(name);
        await rm(join(folder, job), { recursive: true, force: true });
        listeners.callAll(`${job}/`);
      }),
    async close(): Promise<void> {
      isClosed = true;
      cancelTimer?.();
      await jobLocks.done();
      for (const name of held.keys()) {
        await sync(name);
        await drop(name);
      }
    },
  };
}

function createHolding({ folder, bounds, clock, log }: ShelfDeps, held: Map<string, Held>) {
  const drop = async (name: string): Promise<void> => {
    const known = held.get(name);
    held.delete(name);
    await known?.log.close().catch(() => undefined);
  };
  return {
    drop,
    async open(job: JobId, name: string): Promise<OpenLog> {
      const known = held.get(name);
      if (known !== undefined) {
        known.usedAt = clock.mono();
        return known.log;
      }
      const opened = await openLog(join(folder, name), bounds);
      held.set(name, { job, log: opened, usedAt: clock.mono(), isDirty: false, isDue: false });
      return opened;
    },
    async sync(name: string): Promise<void> {
      const known = held.get(name);
      if (!known?.isDirty) return;
      known.isDirty = false;
      try {
        await known.log.sync();
      } catch (cause) {
        // The state on disk is unknown; reopening the log checks it.
        log.warn('log.not_synced', { job_id: known.job, cause });
        await drop(name);
      }
    },
  };
}

const nameOf = (job: JobId, attempt: number): string => `${job}/${attempt}`;

/** Runs operations one at a time per job. */
function createTurns() {
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
    async done(): Promise<void> {
      while (last.size > 0) await Promise.all(last.values());
    },
  };
}

function createListeners() {
  const listeners = new Map<string, Set<() => void>>();
  return {
    add(name: string, ear: () => void): () => void {
      const those = listeners.get(name) ?? new Set();
      listeners.set(name, those.add(ear));
      return () => {
        those.delete(ear);
        if (those.size === 0 && listeners.get(name) === those) listeners.delete(name);
      };
    },
    call: (name: string) => listeners.get(name)?.forEach(ear => ear()),
    callAll(prefix: string): void {
      for (const [name, those] of listeners) if (name.startsWith(prefix)) those.forEach(ear => ear());
    },
  };
}
