import type { AttemptId, JobId, WorkerId } from '../../../protocol/ids.ts';
import type { GpuFigures } from '../../../protocol/worker.ts';
import type { WorkerCommand } from '../../../protocol/worker-api.ts';
import type { MonoMs, WallMs } from '../model.ts';
import type { WorkerStream } from '../ports/index.ts';
import type { Presence } from '../rules/worker-rules.ts';

/** An offer that the worker has not acknowledged yet. */
export interface OpenOffer {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  readonly firstSentAt: MonoMs;
  /** Number of times that the offer was sent; 0 if no stream was open. */
  readonly sent: number;
  readonly giveUpAt: MonoMs;
}

/**
 * The load in a worker's last heartbeat: GPU utilization in percent, used GPU memory in GiB, and the figures of each GPU.
 * `namesJob`: whether the heartbeat named a job.
 */
export interface Load {
  readonly gpuUtilization: number | null;
  readonly vramUsedGb: number | null;
  readonly gpus: readonly GpuFigures[];
  readonly namesJob: boolean;
}

/** Another machine that tried to register with this worker's token. */
export interface DuplicateInstance {
  readonly at: WallMs;
  readonly host: string | null;
  readonly address: string | null;
}

const unknownLoad: Load = { gpuUtilization: null, vramUsedGb: null, gpus: [], namesJob: false };
const noDoubts: ReadonlySet<string> = new Set();

interface Entry {
  load: Load;
  contactAt: MonoMs;
  /** End of the worker's cooldown. */
  settledAt: MonoMs;
  stream: WorkerStream | null;
  offer: OpenOffer | null;
  /** Since when heartbeats have not named the worker's job; null if the last heartbeat named it. */
  absentSince: MonoMs | null;
  /** Whether the worker has been in contact with this process. `unmeet` resets this. */
  met: boolean;
  duplicate: DuplicateInstance | null;
  /** Keys of the known GPU troubles that the last report did not name. A trouble ends if the next report omits it, too. */
  doubted: ReadonlySet<string>;
  /** Time at which the stream broke; null while a stream is open, and after a clean end. */
  lostStreamAt: MonoMs | null;
  /** Number of consecutive offers that were withdrawn although the worker was in contact. */
  missed: number;
}

/**
 * Contacts and streams of workers. They are only in memory, because a heartbeat must not cause a write. After a restart,
 * stored values would be outdated.
 */
export interface ConnectionRegistry {
  of(worker: WorkerId): Presence | null;
  offerOf(worker: WorkerId): OpenOffer | null;
  loadOf(worker: WorkerId): Load;
  noteLoad(worker: WorkerId, load: Load): void;
  all(): readonly WorkerId[];
  streaming(): readonly WorkerId[];
  /** Records a contact with the worker. */
  heard(worker: WorkerId, now: MonoMs): void;
  /** Restarts the worker's grace period, as if the worker had made contact now. */
  grant(worker: WorkerId, now: MonoMs): void;
  /** Returns when the worker's current silence started; null without contact since this process started, or since `unmeet`. */
  metAt(worker: WorkerId): MonoMs | null;
  /** Registers a stream. If an older one is open, ends it. */
  open(worker: WorkerId, stream: WorkerStream, now: MonoMs): void;
  /** Removes a closed stream. Returns false and changes nothing if a newer stream has replaced it. */
  closed(worker: WorkerId, stream: WorkerStream, now: MonoMs): boolean;
  /** Returns when the worker's stream broke; null if a stream is open, and after a clean end. */
  lostStreamAt(worker: WorkerId): MonoMs | null;
  /** Ends the stream cleanly. Returns true if there was one. */
  hangUp(worker: WorkerId): boolean;
  /**
   * Forgets which machine the worker is, because the machine's token is no longer valid. The next machine is then no
   * duplicate. The time of the last contact stays.
   */
  unmeet(worker: WorkerId): void;
  /** Starts a cooldown: the worker gets no job before `until`. */
  settle(worker: WorkerId, until: MonoMs): void;
  /** Sends the command if the worker's stream is open. Returns false if no stream is open. */
  send(worker: WorkerId, command: WorkerCommand): boolean;
  /**
   * Tracks an offer that was not sent by this process. The health loop withdraws it at `giveUpAt` unless the worker
   * acknowledges it. Changes nothing if the offer is already tracked.
   */
  openOffer(
    worker: WorkerId,
    offer: Pick<OpenOffer, 'jobId' | 'attemptId'>,
    now: MonoMs,
    giveUpAt: MonoMs,
  ): void;
  /** Sends and tracks an offer, or a repetition of it. A repetition counts as sent even if no stream is open. */
  sendOffer(
    worker: WorkerId,
    command: WorkerCommand & { type: 'job_submit' },
    now: MonoMs,
    giveUpAt: MonoMs,
  ): void;
  /** Stops tracking the worker's offer of this job: it was acknowledged, or the attempt has ended. */
  offerSettled(worker: WorkerId, job: JobId): void;
  /** Returns the number of consecutive offers that the worker has not acknowledged. */
  missedOf(worker: WorkerId): number;
  noteMissed(worker: WorkerId, missed: number): void;
  /** Records a heartbeat that does not name the worker's job. Returns since when heartbeats have not named the job. */
  noteAbsence(worker: WorkerId, now: MonoMs): MonoMs;
  noteDuplicate(worker: WorkerId, duplicate: DuplicateInstance): void;
  /** Called when the worker has named its job. Earlier heartbeats without the job no longer count. */
  clearAbsence(worker: WorkerId): void;
  /** Returns the keys of the known GPU troubles that the worker's last report did not name. */
  doubtedOf(worker: WorkerId): ReadonlySet<string>;
  noteDoubted(worker: WorkerId, doubted: ReadonlySet<string>): void;
  duplicateOf(worker: WorkerId): DuplicateInstance | null;
  forget(worker: WorkerId): void;
}

const freshEntry = (now: MonoMs): Entry => ({
  contactAt: now,
  settledAt: now,
  stream: null,
  offer: null,
  load: unknownLoad,
  absentSince: null,
  met: false,
  duplicate: null,
  doubted: noDoubts,
  lostStreamAt: null,
  missed: 0,
});

/** Calls `onChange` when a worker's stream opens or ends, and when its cooldown starts. */
export function createConnectionRegistry(onChange: (worker: WorkerId) => void): ConnectionRegistry {
  const entries = new Map<WorkerId, Entry>();
  const entryOf = (worker: WorkerId, now: MonoMs): Entry => {
    const entry = entries.get(worker);
    if (entry !== undefined) return entry;
    const fresh = freshEntry(now);
    entries.set(worker, fresh);
    return fresh;
  };
  const send = (worker: WorkerId, command: WorkerCommand): boolean => {
    const stream = entries.get(worker)?.stream ?? null;
    stream?.send(command);
    return stream !== null;
  };
  const hangUp = (worker: WorkerId): boolean => {
    const entry = entries.get(worker);
    if (entry === undefined || entry.stream === null) return false;
    entry.stream.end();
    entry.stream = null;
    onChange(worker);
    return true;
  };
  return {
    of(worker) {
      const entry = entries.get(worker);
      if (entry === undefined) return null;
      return { contactAt: entry.contactAt, settledAt: entry.settledAt, streaming: entry.stream !== null };
    },
    all: () => [...entries.keys()],
    streaming: () => [...entries].filter(([, { stream }]) => stream !== null).map(([worker]) => worker),
    heard(worker, now) {
      const entry = entryOf(worker, now);
      entry.contactAt = now;
      entry.met = true;
    },
    grant(worker, now) {
      entryOf(worker, now).contactAt = now;
    },
    metAt(worker) {
      const entry = entries.get(worker);
      return entry?.met === true ? entry.contactAt : null;
    },
    open(worker, stream, now) {
      hangUp(worker);
      const entry = entryOf(worker, now);
      entry.stream = stream;
      entry.lostStreamAt = null;
      onChange(worker);
    },
    lostStreamAt: worker => entries.get(worker)?.lostStreamAt ?? null,
    closed(worker, stream, now) {
      const entry = entries.get(worker);
      if (entry?.stream !== stream) return false;
      entry.stream = null;
      entry.lostStreamAt = now;
      onChange(worker);
      return true;
    },
    hangUp,
    settle(worker, until) {
      const entry = entries.get(worker);
      if (entry === undefined) return;
      entry.settledAt = Math.max(entry.settledAt, until);
      onChange(worker);
    },
    send,
    ...offerCalls(entries, entryOf, send),
    ...noteCalls(entries, entryOf),
    forget(worker) {
      hangUp(worker);
      entries.delete(worker);
    },
  };
}

function offerCalls(
  entries: ReadonlyMap<WorkerId, Entry>,
  entryOf: (worker: WorkerId, now: MonoMs) => Entry,
  send: ConnectionRegistry['send'],
): Pick<
  ConnectionRegistry,
  'offerOf' | 'openOffer' | 'sendOffer' | 'offerSettled' | 'missedOf' | 'noteMissed'
> {
  return {
    offerOf: worker => entries.get(worker)?.offer ?? null,
    openOffer(worker, offer, now, giveUpAt) {
      const entry = entryOf(worker, now);
      if (entry.offer?.attemptId !== offer.attemptId)
        entry.offer = { ...offer, firstSentAt: now, sent: 0, giveUpAt };
    },
    sendOffer(worker, command, now, giveUpAt) {
      const entry = entryOf(worker, now);
      const tracked = entry.offer?.attemptId === command.attempt_id ? entry.offer : null;
      const wasSent = send(worker, command);
      if (tracked !== null && tracked.sent > 0) {
        entry.offer = { ...tracked, sent: tracked.sent + 1 };
        return;
      }
      const { job_id: jobId, attempt_id: attemptId } = command;
      entry.offer = wasSent
        ? { jobId, attemptId, firstSentAt: now, sent: 1, giveUpAt }
        : { jobId, attemptId, firstSentAt: now, sent: 0, giveUpAt: tracked?.giveUpAt ?? giveUpAt };
    },
    offerSettled(worker, job) {
      const entry = entries.get(worker);
      if (entry?.offer?.jobId === job) entry.offer = null;
    },
    missedOf: worker => entries.get(worker)?.missed ?? 0,
    noteMissed(worker, missed) {
      const entry = entries.get(worker);
      if (entry !== undefined) entry.missed = missed;
    },
  };
}

function noteCalls(
  entries: ReadonlyMap<WorkerId, Entry>,
  entryOf: (worker: WorkerId, now: MonoMs) => Entry,
): Pick<
  ConnectionRegistry,
  | 'unmeet'
  | 'loadOf'
  | 'noteLoad'
  | 'noteAbsence'
  | 'clearAbsence'
  | 'doubtedOf'
  | 'noteDoubted'
  | 'noteDuplicate'
  | 'duplicateOf'
> {
  return {
    unmeet(worker) {
      const entry = entries.get(worker);
      if (entry !== undefined) entry.met = false;
    },
    loadOf: worker => entries.get(worker)?.load ?? unknownLoad,
    noteLoad(worker, load) {
      const entry = entries.get(worker);
      if (entry !== undefined) entry.load = load;
    },
    noteAbsence(worker, now) {
      const entry = entryOf(worker, now);
      entry.absentSince ??= now;
      return entry.absentSince;
    },
    clearAbsence(worker) {
      const entry = entries.get(worker);
      if (entry !== undefined) entry.absentSince = null;
    },
    doubtedOf: worker => entries.get(worker)?.doubted ?? noDoubts,
    noteDoubted(worker, doubted) {
      const entry = entries.get(worker);
      if (entry !== undefined) entry.doubted = doubted;
    },
    noteDuplicate(worker, duplicate) {
      const entry = entries.get(worker);
      if (entry !== undefined) entry.duplicate = duplicate;
    },
    duplicateOf: worker => entries.get(worker)?.duplicate ?? null,
  };
}
