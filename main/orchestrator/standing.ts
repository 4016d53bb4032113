import type { WorkerId } from '../../protocol/ids.ts';
import type { HoldingBack } from '../../protocol/worker.ts';
import type { Deadlines } from './deadlines.ts';
import type { Offering } from './matching.ts';
import { type MonoMs, offeringOf, type QueueSettings, type Worker } from './model.ts';
import type { Clock, Read } from './ports.ts';
import type { PresenceBook } from './presence.ts';
import type { Times } from './times.ts';
import {
  type DerivedStatus,
  type Obstacle,
  obstaclesOf,
  type WorkerFacts,
  workerStatus,
} from './worker-status.ts';

/** What a worker's status follows from, besides what is stored. */
export interface Standing {
  /** Stands still while this process does. */
  readonly clock: Clock;
  readonly times: Times;
  readonly presence: PresenceBook;
  readonly deadlines: Deadlines;
  /** Which troubles of a GPU keep jobs from its worker; that may be set while it runs. */
  readonly holdingBack: () => HoldingBack;
}

/** Quiet agents of protocol 1 may be granted more than T: they send nothing while their trainer prints nothing. */
export function patienceOf(
  { times }: Standing,
  worker: Worker,
): { readonly offlineMs: number; readonly takeoverMs: number } {
  const offlineMs =
    worker.agent?.protocol === 1 ? Math.max(times.offlineAfterMs, times.v1SilenceMs) : times.offlineAfterMs;
  return { offlineMs, takeoverMs: offlineMs + times.takeoverMs - times.offlineAfterMs };
}

function factsOf(standing: Standing, read: Read, worker: Worker, now: MonoMs): WorkerFacts {
  const holdsBack = standing.holdingBack();
  return {
    worker,
    presence: standing.presence.of(worker.id),
    jobId: read.liveJobOf(worker.id)?.id ?? null,
    awaited: (standing.deadlines.firstContact.get(worker.id) ?? now) > now,
    offlineAfterMs: patienceOf(standing, worker).offlineMs,
    trialAt: standing.deadlines.trial.get(worker.id) ?? null,
    isClosed: worker.local && settingsOf(read).maxLocalJobs === 0,
    troubles: worker.agent?.gpuTroubles.filter(({ kind }) => holdsBack[kind]) ?? [],
  };
}

export function statusOf(standing: Standing, read: Read, worker: Worker): DerivedStatus {
  const now = standing.clock.mono();
  return workerStatus(factsOf(standing, read, worker, now), now);
}

interface Candidacy extends DerivedStatus {
  /** A job may be given to it now only while there is none: not each that is idle gets one. */
  readonly obstacles: readonly Obstacle[];
  /** When a quarantined worker is tried again. */
  readonly trialAt: MonoMs | null;
}

export function candidacyOf(standing: Standing, read: Read, worker: Worker): Candidacy {
  const now = standing.clock.mono();
  const facts = factsOf(standing, read, worker, now);
  return { ...workerStatus(facts, now), obstacles: obstaclesOf(facts, now), trialAt: facts.trialAt };
}

/** What jobs are matched with. Only the limits of the orchestrator's own machine need a look at the settings. */
export const offeringIn = (read: Read, worker: Worker): Offering =>
  offeringOf(worker, worker.local ? settingsOf(read) : openQueue);

const isOpen = (standing: Standing, read: Read, worker: Worker): boolean =>
  candidacyOf(standing, read, worker).obstacles.length === 0;

export function isFree(standing: Standing, read: Read, id: WorkerId): boolean {
  const worker = read.worker(id);
  return worker !== null && isOpen(standing, read, worker);
}

const openQueue: QueueSettings = {
  pause: null,
  maxRunning: null,
  maxRunningPerUser: null,
  maxRunningPerTeam: null,
  teamLimits: {},
  fairShare: true,
  approvalFor: [],
  maxLocalGpus: null,
  maxLocalJobs: 1,
};

/** Settings that an earlier version has stored lack what it did not know. */
export const settingsOf = (read: Read): QueueSettings => ({ ...openQueue, ...read.queueSettings() });
