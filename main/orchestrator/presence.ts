import type { AttemptId, JobId, WorkerId } from '../../protocol/ids.ts';
import type { WorkerCommand } from '../../protocol/worker-api.ts';
import type { MonoMs } from './model.ts';
import type { WorkerStream } from './ports.ts';
import type { Presence } from './worker-status.ts';

/** An offer that went out and was not taken yet. */
export interface OpenOffer {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  readonly firstSentAt: MonoMs;
  readonly sent: number;
}

/** How busy a worker's GPUs are, as its last heartbeat said: percent, and GiB. */
export interface Load {
  readonly gpuUtilization: number | null;
  readonly vramUsedGb: number | null;
}

const unknownLoad: Load = { gpuUtilization: null, vramUsedGb: null };

interface Entry {
  load: Load;
  contactAt: MonoMs;
  settledAt: MonoMs;
  stream: WorkerStream | null;
  offer: OpenOffer | null;
}

/** Who is in contact: kept in memory only, because a beat must cost nothing and a restart makes it stale anyway. */
export interface PresenceBook {
  of(worker: WorkerId): Presence | null;
  offerOf(worker: WorkerId): OpenOffer | null;
  loadOf(worker: WorkerId): Load;
  noteLoad(worker: WorkerId, load: Load): void;
  all(): readonly WorkerId[];
  streaming(): readonly WorkerId[];
  heard(worker: WorkerId, now: MonoMs): void;
  /** The newer stream replaces an older one, which is ended. */
  open(worker: WorkerId, stream: WorkerStream, now: MonoMs): void;
  /** False when a newer stream has taken its place: then nothing happens. */
  closed(worker: WorkerId, stream: WorkerStream): boolean;
  /** Ends the stream cleanly; the answer tells whether there was one. */
  hangUp(worker: WorkerId): boolean;
  settle(worker: WorkerId, until: MonoMs): void;
  /** Sends if a stream is open. */
  send(worker: WorkerId, command: WorkerCommand): boolean;
  /** Sends an offer and keeps when, so that it can be repeated. A repeat counts even when no stream is open. */
  sendOffer(worker: WorkerId, command: WorkerCommand & { type: 'job_submit' }, now: MonoMs): void;
  offerSettled(worker: WorkerId, job: JobId): void;
  forget(worker: WorkerId): void;
}

export function createPresenceBook(): PresenceBook {
  const entries = new Map<WorkerId, Entry>();
  const entry = (worker: WorkerId, now: MonoMs): Entry => {
    const known = entries.get(worker);
    if (known !== undefined) return known;
    const fresh: Entry = { contactAt: now, settledAt: now, stream: null, offer: null, load: unknownLoad };
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
    return true;
  };
  return {
    of(worker) {
      const known = entries.get(worker);
      if (known === undefined) return null;
      return { contactAt: known.contactAt, settledAt: known.settledAt, streaming: known.stream !== null };
    },
    offerOf: worker => entries.get(worker)?.offer ?? null,
    loadOf: worker => entries.get(worker)?.load ?? unknownLoad,
    noteLoad(worker, load) {
      const known = entries.get(worker);
      if (known !== undefined) known.load = load;
    },
    all: () => [...entries.keys()],
    streaming: () => [...entries].filter(([, { stream }]) => stream !== null).map(([worker]) => worker),
    heard(worker, now) {
      entry(worker, now).contactAt = now;
    },
    open(worker, stream, now) {
      hangUp(worker);
      entry(worker, now).stream = stream;
    },
    closed(worker, stream) {
      const known = entries.get(worker);
      if (known?.stream !== stream) return false;
      known.stream = null;
      return true;
    },
    hangUp,
    settle(worker, until) {
      const known = entries.get(worker);
      if (known !== undefined) known.settledAt = Math.max(known.settledAt, until);
    },
    send,
    sendOffer(worker, command, now) {
      const known = entry(worker, now);
      const again = known.offer?.attemptId === command.attempt_id ? known.offer : null;
      if (!send(worker, command) && again === null) return;
      known.offer = {
        jobId: command.job_id,
        attemptId: command.attempt_id,
        firstSentAt: again?.firstSentAt ?? now,
        sent: (again?.sent ?? 0) + 1,
      };
    },
    offerSettled(worker, job) {
      const known = entries.get(worker);
      if (known?.offer?.jobId === job) known.offer = null;
    },
    forget(worker) {
      hangUp(worker);
      entries.delete(worker);
    },
  };
}
