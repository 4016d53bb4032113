import type { WorkerId } from '../../../protocol/ids.ts';
import type { HoldingBack } from '../../../protocol/worker.ts';
import type { Deadlines } from './deadlines.ts';
import { type Offering, type MonoMs, offeringOf, type QueueSettings, type Worker } from '../model.ts';
import type { Clock, Read } from '../ports/index.ts';
import type { ConnectionRegistry } from './connection-registry.ts';
import type { Times } from '../rules/times.ts';
import {
  type DerivedStatus,
  type IneligibilityReason,
  ineligibilityReasonsOf,
  type WorkerFacts,
  workerStatus,
} from '../rules/worker-status.ts';
import { silenceLimitOf } from '../v1-agent.ts';

/** What determines a worker's status, besides the stored facts. */
export interface EligibilityContext {
  /** Stands still while this process is paused. */
  readonly clock: Clock;
  readonly times: Times;
  readonly connections: ConnectionRegistry;
  readonly deadlines: Deadlines;
  /** Which GPU troubles keep jobs from a worker. Can change at runtime. */
  readonly holdingBack: () => HoldingBack;
}

/** How long a worker may be silent. */
export function patienceOf(
  { times }: EligibilityContext,
  worker: Worker,
): { readonly offlineMs: number; readonly takeoverMs: number } {
  const offlineMs = silenceLimitOf(worker, times);
  return { offlineMs, takeoverMs: offlineMs + times.takeoverMs - times.offlineAfterMs };
}

function factsOf(standing: EligibilityContext, read: Read, worker: Worker, now: MonoMs): WorkerFacts {
  const holdsBack = standing.holdingBack();
  return {
    worker,
    connections: standing.connections.of(worker.id),
    jobId: read.liveJobOf(worker.id)?.id ?? null,
    awaited: (standing.deadlines.firstContact.get(worker.id) ?? now) > now,
    offlineAfterMs: patienceOf(standing, worker).offlineMs,
    trialAt: standing.deadlines.trial.get(worker.id) ?? null,
    isClosed: worker.local && settingsOf(read).maxLocalJobs === 0,
    troubles: worker.agent?.gpuTroubles.filter(({ kind }) => holdsBack[kind]) ?? [],
  };
}

export function statusOf(standing: EligibilityContext, read: Read, worker: Worker): DerivedStatus {
  const now = standing.clock.mono();
  return workerStatus(factsOf(standing, read, worker, now), now);
}

interface Candidacy extends DerivedStatus {
  /** Why the worker cannot take a job now; empty if it can. An idle worker may still have such reasons. */
  readonly ineligibilityReasons: readonly IneligibilityReason[];
  /** When a quarantined worker gets a trial job. */
  readonly trialAt: MonoMs | null;
}

export function candidacyOf(standing: EligibilityContext, read: Read, worker: Worker): Candidacy {
  const now = standing.clock.mono();
  const facts = factsOf(standing, read, worker, now);
  return {
    ...workerStatus(facts, now),
    ineligibilityReasons: ineligibilityReasonsOf(facts, now),
    trialAt: facts.trialAt,
  };
}

/** The properties that jobs are matched against. Only the limits of the orchestrator's own machine require a read of the settings. */
export const offeringIn = (read: Read, worker: Worker): Offering =>
  offeringOf(worker, worker.local ? settingsOf(read) : openQueue);

const isOpen = (standing: EligibilityContext, read: Read, worker: Worker): boolean =>
  candidacyOf(standing, read, worker).ineligibilityReasons.length === 0;

export function isFree(standing: EligibilityContext, read: Read, id: WorkerId): boolean {
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

/** Adds defaults for settings that an earlier version did not store. */
export const settingsOf = (read: Read): QueueSettings => ({ ...openQueue, ...read.queueSettings() });
