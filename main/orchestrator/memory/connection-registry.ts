import type { AttemptId, JobId, WorkerId } from '../../../protocol/ids.ts';
import type { WorkerCommand } from '../../../protocol/worker-api.ts';
import type { MonoMs, WallMs } from '../model.ts';
import type { WorkerStream } from '../ports/index.ts';
import type { Presence } from '../rules/worker-rules.ts';

/** An offer that the worker has not acknowledged yet. */
export interface OpenOffer {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  readonly firstSentAt: MonoMs;
  /** How often it was sent; 0 while no stream was open. */
  readonly sent: number;
  readonly giveUpAt: MonoMs;
}

/** What a worker's last heartbeat reported: GPU utilization in percent, used GPU memory in GiB, and whether it named a job. */
export interface Load {
  readonly gpuUtilization: number | null;
  readonly vramUsedGb: number | null;
  readonly namesJob: boolean;
}

/** Another machine that tried to register with this worker's token. */
export interface DuplicateInstance {
  readonly at: WallMs;
  readonly host: string | null;
  readonly address: string | null;
}

const unknownLoad: Load = { gpuUtilization: null, vramUsedGb: null, namesJob: false };
const noDoubts: ReadonlySet<string> = new Set();

interface Entry {
  load: Load;
  contactAt: MonoMs;
  settledAt: MonoMs;
  stream: WorkerStream | null;
  offer: OpenOffer | null;
  /** When the first heartbeat in a row arrived that did not name the worker's job. */
  absentSince: MonoMs | null;
  /** Whether `contactAt` is a real contact, and not the orchestrator's own start. */
  met: boolean;
  duplicate: DuplicateInstance | null;
  doubted: ReadonlySet<string>;
  /** When its stream broke; null while one is open, and after a clean end. */
  lostStreamAt: MonoMs | null;
  /** Number of offers in a row that were withdrawn although the worker was in contact. */
  missed: number;
}

/** Contact and streams of workers. In memory only, because a heartbeat must cost no write, and a restart makes it stale anyway. */
export interface ConnectionRegistry {
  of(worker: WorkerId): Presence | null;
  offerOf(worker: WorkerId): OpenOffer | null;
  loadOf(worker: WorkerId): Load;
  noteLoad(worker: WorkerId, load: Load): void;
  all(): readonly WorkerId[];
  streaming(): readonly WorkerId[];
  heard(worker: WorkerId, now: MonoMs): void;
  /** Restarts a worker's grace period, as if it had been heard now. */
  grant(worker: WorkerId, now: MonoMs): void;
  /** When this process last heard the worker; null for never. */
  metAt(worker: WorkerId): MonoMs | null;
  /** Replaces an older stream, which it ends. */
  open(worker: WorkerId, stream: WorkerStream, now: MonoMs): void;
  /** Does nothing and returns false if a newer stream has replaced this one. */
  closed(worker: WorkerId, stream: WorkerStream, now: MonoMs): boolean;
  /** When the worker's stream broke; null if it has opened another one since. */
  lostStreamAt(worker: WorkerId): MonoMs | null;
  /** Ends the stream cleanly. Returns whether there was one. */
  hangUp(worker: WorkerId): boolean;
  /**
   * Forgets the machine behind the worker, because its token is no longer valid: the worker counts as never heard, but
   * not as silent.
   */
  unmeet(worker: WorkerId): void;
  settle(worker: WorkerId, until: MonoMs): void;
  /** Sends the command if a stream is open. Returns whether one was. */
  send(worker: WorkerId, command: WorkerCommand): boolean;
  /** Tracks an offer that is withdrawn at `giveUpAt` unless it is acknowledged. Leaves an offer that is already open unchanged. */
  openOffer(
    worker: WorkerId,
    offer: Pick<OpenOffer, 'jobId' | 'attemptId'>,
    now: MonoMs,
    giveUpAt: MonoMs,
  ): void;
  /** Sends an offer and records when, so that it can be repeated. A repeat counts even if no stream is open. */
  sendOffer(
    worker: WorkerId,
    command: WorkerCommand & { type: 'job_submit' },
    now: MonoMs,
    giveUpAt: MonoMs,
  ): void;
  offerSettled(worker: WorkerId, job: JobId): void;
  /** How many offers in a row the worker has not acknowledged. */
  missedOf(worker: WorkerId): number;
  noteMissed(worker: WorkerId, missed: number): void;
  /** Records a heartbeat that does not name the job. Returns when the first of these in a row arrived. */
  noteAbsence(worker: WorkerId, now: MonoMs): MonoMs;
  noteDuplicate(worker: WorkerId, duplicate: DuplicateInstance): void;
  /** The worker has reported what it runs: earlier heartbeats without its job no longer count. */
  clearAbsence(worker: WorkerId): void;
  /** Known GPU troubles that its last report did not name. */
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

/** Calls `onChange` when a worker's stream opens or ends, and when the worker has to settle. */
export function createConnectionRegistry(onChange: (worker: WorkerId) => void): ConnectionRegistry {
  const entries = new Map<WorkerId, Entry>();
  const entry = (worker: WorkerId, now: MonoMs): Entry => {
    const known = entries.get(worker);
    if (known !== undefined) return known;
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
    const known = entries.get(worker);
    if (known === undefined || known.stream === null) return false;
    known.stream.end();
    known.stream = null;
    onChange(worker);
    return true;
  };
  return {
    of(worker) {
      const known = entries.get(worker);
      if (known === undefined) return null;
      return { contactAt: known.contactAt, settledAt: known.settledAt, streaming: known.stream !== null };
    },
    all: () => [...entries.keys()],
    streaming: () => [...entries].filter(([, { stream }]) => stream !== null).map(([worker]) => worker),
    heard(worker, now) {
      const known = entry(worker, now);
      known.contactAt = now;
      known.met = true;
    },
    grant(worker, now) {
      entry(worker, now).contactAt = now;
    },
    metAt(worker) {
      const known = entries.get(worker);
      return known?.met === true ? known.contactAt : null;
    },
    open(worker, stream, now) {
      hangUp(worker);
      const known = entry(worker, now);
      known.stream = stream;
      known.lostStreamAt = null;
      onChange(worker);
    },
    lostStreamAt: worker => entries.get(worker)?.lostStreamAt ?? null,
    closed(worker, stream, now) {
      const known = entries.get(worker);
      if (known?.stream !== stream) return false;
      known.stream = null;
      known.lostStreamAt = now;
      onChange(worker);
      return true;
    },
    hangUp,
    settle(worker, until) {
      const known = entries.get(worker);
      if (known === undefined) return;
      known.settledAt = Math.max(known.settledAt, until);
      onChange(worker);
    },
    send,
    ...offerCalls(entries, entry, send),
    ...noteCalls(entries, entry),
    forget(worker) {
      hangUp(worker);
      entries.delete(worker);
    },
  };
}

function offerCalls(
  entries: ReadonlyMap<WorkerId, Entry>,
  entry: (worker: WorkerId, now: MonoMs) => Entry,
  send: ConnectionRegistry['send'],
): Pick<
  ConnectionRegistry,
  'offerOf' | 'openOffer' | 'sendOffer' | 'offerSettled' | 'missedOf' | 'noteMissed'
> {
  return {
    offerOf: worker => entries.get(worker)?.offer ?? null,
    openOffer(worker, offer, now, giveUpAt) {
      const known = entry(worker, now);
      if (known.offer?.attemptId !== offer.attemptId)
        known.offer = { ...offer, firstSentAt: now, sent: 0, giveUpAt };
    },
    sendOffer(worker, command, now, giveUpAt) {
      const known = entry(worker, now);
      const open = known.offer?.attemptId === command.attempt_id ? known.offer : null;
      const again = open !== null && open.sent > 0 ? open : null;
      const wasSent = send(worker, command);
      known.offer = {
        jobId: command.job_id,
        attemptId: command.attempt_id,
        firstSentAt: again?.firstSentAt ?? now,
        sent: wasSent || again !== null ? (again?.sent ?? 0) + 1 : 0,
        giveUpAt: again?.giveUpAt ?? (wasSent ? giveUpAt : (open?.giveUpAt ?? giveUpAt)),
      };
    },
    offerSettled(worker, job) {
      const known = entries.get(worker);
      if (known?.offer?.jobId === job) known.offer = null;
    },
    missedOf: worker => entries.get(worker)?.missed ?? 0,
    noteMissed(worker, missed) {
      const known = entries.get(worker);
      if (known !== undefined) known.missed = missed;
    },
  };
}

function noteCalls(
  entries: ReadonlyMap<WorkerId, Entry>,
  entry: (worker: WorkerId, now: MonoMs) => Entry,
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
      const known = entries.get(worker);
      if (known !== undefined) known.met = false;
    },
    loadOf: worker => entries.get(worker)?.load ?? unknownLoad,
    noteLoad(worker, load) {
      const known = entries.get(worker);
      if (known !== undefined) known.load = load;
    },
    noteAbsence(worker, now) {
      const known = entry(worker, now);
      known.absentSince ??= now;
      return known.absentSince;
    },
    clearAbsence(worker) {
      const known = entries.get(worker);
      if (known !== undefined) known.absentSince = null;
    },
    doubtedOf: worker => entries.get(worker)?.doubted ?? noDoubts,
    noteDoubted(worker, doubted) {
      const known = entries.get(worker);
      if (known !== undefined) known.doubted = doubted;
    },
    noteDuplicate(worker, duplicate) {
      const known = entries.get(worker);
      if (known !== undefined) known.duplicate = duplicate;
    },
    duplicateOf: worker => entries.get(worker)?.duplicate ?? null,
  };
}
