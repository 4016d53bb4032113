import type { JobId } from '../../../protocol/ids.ts';
import type { GpuTrouble, WorkerStatus } from '../../../protocol/worker.ts';
import { takesNoJobs } from './update-rules.ts';
import { leavesAfterJob, type MonoMs, type Worker, type JoinToken, type WallMs } from '../model.ts';

/** Facts about a worker that are only in memory. A restart loses them, and workers send them again when they reconnect. */
export interface Presence {
  /** When the worker was last heard; after a restart, the time of the orchestrator's start. */
  readonly contactAt: MonoMs;
  readonly streaming: boolean;
  /** The worker gets no job before this, because SimpleTuner's agent (v1) drops a job that arrives too early after a report. */
  readonly settledAt: MonoMs;
}

/** Everything that determines a worker's status. */
export interface WorkerFacts {
  readonly worker: Worker;
  readonly presence: Presence | null;
  /** The job of its live attempt; null for none. */
  readonly jobId: JobId | null;
  /** It has never registered, and may still be connecting. */
  readonly awaited: boolean;
  /** Silence in milliseconds after which it is offline. */
  readonly offlineAfterMs: number;
  /** When a quarantined worker gets a trial job; null otherwise. */
  readonly trialAt: MonoMs | null;
  /** Whether the limit of jobs is 0 on this worker, the orchestrator's own machine. */
  readonly isAtLocalLimit: boolean;
  /** Why the rig takes no job for now, in one sentence; null when it does. */
  readonly rigClosedReason: string | null;
  /** The GPU troubles that keep jobs from it, according to the settings. */
  readonly troubles: readonly GpuTrouble[];
}

export interface DerivedStatus {
  readonly status: WorkerStatus;
  readonly reason: string | null;
}

/** Why a worker cannot take any job. */
export type IneligibilityReason =
  | { readonly code: 'never_registered'; readonly awaited: boolean }
  | { readonly code: 'offline'; readonly why: 'goodbye' | 'silent' }
  | { readonly code: 'draining'; readonly reason: string | null }
  | { readonly code: 'busy'; readonly jobId: JobId }
  | { readonly code: 'settling' | 'no_stream' | 'leaving' | 'updating' | 'local_limit' }
  | { readonly code: 'closed'; readonly detail: string }
  | { readonly code: 'quarantined'; readonly reason: string }
  | { readonly code: 'gpu_trouble'; readonly troubles: readonly GpuTrouble[] };

/** Whether the reason will pass by itself. */
export const isPassing = ({ code }: Pick<IneligibilityReason, 'code'>): boolean =>
  code === 'busy' || code === 'settling';

/** Returns all reasons, in the order of the rules of docs/internals/semantics.md, section 1. A worker without any can take a job. */
export function ineligibilityReasonsOf(facts: WorkerFacts, now: MonoMs): readonly IneligibilityReason[] {
  const { worker, presence, jobId } = facts;
  const { agent, drain, quarantine } = worker;
  const reasons: IneligibilityReason[] = [];
  const offline = absenceOf(facts, now);
  if (offline !== null) reasons.push(offline);
  if (drain !== null) reasons.push({ code: 'draining', reason: drain.reason });
  // Nothing else is known about a worker that never registered.
  if (agent === null) return reasons;
  if (jobId !== null) reasons.push({ code: 'busy', jobId });
  if (presence !== null && now < presence.settledAt) reasons.push({ code: 'settling' });
  if (presence?.streaming !== true) reasons.push({ code: 'no_stream' });
  if (worker.served && leavesAfterJob(worker)) reasons.push({ code: 'leaving' });
  if (facts.rigClosedReason !== null) reasons.push({ code: 'closed', detail: facts.rigClosedReason });
  if (takesNoJobs(worker.update)) reasons.push({ code: 'updating' });
  if (quarantine !== null && (facts.trialAt === null || facts.trialAt > now))
    reasons.push({ code: 'quarantined', reason: quarantine.reason });
  if (facts.troubles.length > 0) reasons.push({ code: 'gpu_trouble', troubles: facts.troubles });
  if (facts.isAtLocalLimit) reasons.push({ code: 'local_limit' });
  return reasons;
}

function absenceOf(
  { worker, presence, awaited, offlineAfterMs }: WorkerFacts,
  now: MonoMs,
): IneligibilityReason | null {
  if (worker.agent === null) return { code: 'never_registered', awaited };
  if (worker.gone !== null) return { code: 'offline', why: worker.gone };
  const isSilent = presence === null || now - presence.contactAt >= offlineAfterMs;
  return isSilent ? { code: 'offline', why: 'silent' } : null;
}

/** Derives the status from the first reason (docs/internals/semantics.md, section 1). */
export function workerStatus(facts: WorkerFacts, now: MonoMs): DerivedStatus {
  const [first] = ineligibilityReasonsOf(facts, now);
  switch (first?.code) {
    case 'never_registered':
      return { status: first.awaited ? 'connecting' : 'offline', reason: first.code };
    case 'offline':
      return { status: 'offline', reason: first.why };
    case 'draining':
      return { status: 'draining', reason: first.reason };
    case 'busy':
      return { status: 'busy', reason: null };
    case 'settling':
    case 'leaving':
      return { status: 'busy', reason: first.code };
    case 'no_stream':
      return { status: 'connecting', reason: first.code };
    case 'closed':
    case 'updating':
    case 'quarantined':
    case 'gpu_trouble':
    case 'local_limit':
    case undefined:
      return {
        status: 'idle',
        reason: facts.worker.quarantine === null ? (first?.code ?? null) : 'quarantined',
      };
  }
}

/** The change of a worker's known GPU troubles by a report of its agent. */
export interface TroublePlan {
  /** All known troubles after the report, sorted by GPU and kind. */
  readonly troubles: readonly GpuTrouble[];
  readonly started: readonly GpuTrouble[];
  readonly ended: readonly GpuTrouble[];
  /** Known troubles that this report did not name. They end if the next report does not name them either. */
  readonly doubted: ReadonlySet<string>;
  /** Whether there is anything to store. A change of the description alone is stored, but causes no event. */
  readonly changes: boolean;
}

/** A GPU has at most one trouble of each kind. If another process holds it, only the description changes. */
const keyOf = ({ gpu, kind }: GpuTrouble): string => `${gpu} ${kind}`;

const byGpu = (a: GpuTrouble, b: GpuTrouble): number => a.gpu - b.gpu || (a.kind < b.kind ? -1 : 1);

/**
 * A trouble starts with the first report that names it, and ends with the second report in a row that does not. So a
 * GPU that disappears and returns repeatedly causes one event. `doubted`: troubles that the previous report did not
 * name.
 */
export function planTroubles(
  before: readonly GpuTrouble[],
  reported: readonly GpuTrouble[],
  doubted: ReadonlySet<string>,
): TroublePlan {
  const byKey = new Map(reported.map(trouble => [keyOf(trouble), trouble]));
  const wasKnown = new Set(before.map(keyOf));
  const started = [...byKey.values()].filter(trouble => !wasKnown.has(keyOf(trouble)));
  const unnamed = before.filter(trouble => !byKey.has(keyOf(trouble)));
  const ended = unnamed.filter(trouble => doubted.has(keyOf(trouble)));
  const stillDoubted = unnamed.filter(trouble => !doubted.has(keyOf(trouble)));
  const isReworded = before.some(trouble => {
    const reportedAgain = byKey.get(keyOf(trouble));
    return reportedAgain !== undefined && reportedAgain.detail !== trouble.detail;
  });
  return {
    troubles: [...byKey.values(), ...stillDoubted].toSorted(byGpu),
    started,
    ended,
    doubted: new Set(stillDoubted.map(keyOf)),
    changes: started.length > 0 || ended.length > 0 || isReworded,
  };
}

/**
 * The result of presenting a join token together with the hash of a worker token. `join`: it is used now. `repeated`:
 * it was used for this same worker token, and the agent may have missed the response.
 */
export type JoinVerdict = 'join' | 'repeated' | 'used' | 'expired';

/**
 * A repeat changes nothing, and is accepted even after the expiry: an agent that was killed before it got the response
 * may be started again days later, and its token is valid.
 */
export function judgeJoin(joinToken: JoinToken, tokenHash: string, now: WallMs): JoinVerdict {
  if (joinToken.usedFor !== null) return joinToken.usedFor === tokenHash ? 'repeated' : 'used';
  return now < joinToken.expiresAt ? 'join' : 'expired';
}
