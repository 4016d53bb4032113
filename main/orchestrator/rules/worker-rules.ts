import type { JobId } from '../../../protocol/ids.ts';
import type { GpuTrouble, WorkerStatus } from '../../../protocol/worker.ts';
import { takesNoJobs } from './update-rules.ts';
import { leavesAfterJob, type MonoMs, type Worker, type JoinToken, type WallMs } from '../model.ts';

/** Facts about a worker that exist only in memory. After a restart, workers send them again when they reconnect. */
export interface Presence {
  /** When the worker was last in contact. After a restart, the time of the orchestrator's start. */
  readonly contactAt: MonoMs;
  readonly streaming: boolean;
  /** Time before which the worker gets no job. SimpleTuner's agent (v1) drops a job that arrives too early after a report. */
  readonly settledAt: MonoMs;
}

/** Everything that determines a worker's status. */
export interface WorkerFacts {
  readonly worker: Worker;
  readonly presence: Presence | null;
  /** The job of the worker's live attempt; null for none. */
  readonly jobId: JobId | null;
  /** Whether the worker has never registered and may still be connecting. */
  readonly awaited: boolean;
  /** Silence in milliseconds after which the worker is offline. */
  readonly offlineAfterMs: number;
  /** When a quarantined worker gets a trial job; null otherwise. */
  readonly trialAt: MonoMs | null;
  /** Whether this worker is the orchestrator's own machine and its job limit is 0. */
  readonly isAtLocalLimit: boolean;
  /** Why the rig currently takes no jobs, in one sentence; null when it takes jobs. */
  readonly rigClosedReason: string | null;
  /** The GPU troubles for which the settings keep jobs from the worker. */
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

/** Whether the reason ends without an action of a user. */
export const isPassing = ({ code }: Pick<IneligibilityReason, 'code'>): boolean =>
  code === 'busy' || code === 'settling';

/**
 * Returns all reasons, in the order of docs/internals/semantics.md, section 1. The worker can take a job if there is
 * none.
 */
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

/** Changes to a worker's known GPU troubles after a report of its agent. */
export interface TroublePlan {
  /** All known troubles after the report, sorted by GPU and kind. */
  readonly troubles: readonly GpuTrouble[];
  readonly started: readonly GpuTrouble[];
  readonly ended: readonly GpuTrouble[];
  /** Keys of known troubles that this report did not name. They end if the next report does not name them either. */
  readonly doubted: ReadonlySet<string>;
  /** Whether to store `troubles`. A change of a description alone is stored, but causes no event. */
  readonly changes: boolean;
}

/** A GPU has at most one trouble of each kind. If a different process now uses the GPU, only the description changes. */
const keyOf = ({ gpu, kind }: GpuTrouble): string => `${gpu} ${kind}`;

const byGpu = (a: GpuTrouble, b: GpuTrouble): number => a.gpu - b.gpu || (a.kind < b.kind ? -1 : 1);

/**
 * Compares known troubles with a report. A trouble starts with the first report that names it. It ends with the second
 * report in a row that does not name it. So a GPU that disappears and returns repeatedly causes only one event. `doubted`:
 * keys of known troubles that the previous report did not name.
 */
export function planTroubles(
  before: readonly GpuTrouble[],
  reported: readonly GpuTrouble[],
  doubted: ReadonlySet<string>,
): TroublePlan {
  const byKey = new Map(reported.map(trouble => [keyOf(trouble), trouble]));
  const knownKeys = new Set(before.map(keyOf));
  const started = [...byKey.values()].filter(trouble => !knownKeys.has(keyOf(trouble)));
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
 * The result of a request with a join token and the hash of a worker token. `join`: the token is unused and valid.
 * `repeated`: it was used for the same worker token, and the agent may have missed the response. `used`: it was used
 * for another worker token.
 */
export type JoinVerdict = 'join' | 'repeated' | 'used' | 'expired';

/**
 * Decides whether a join token may be used. A repeat is accepted even after the expiry: if an agent was killed before it got
 * the response, it may start again days later. Its worker token is already valid.
 */
export function judgeJoin(joinToken: JoinToken, tokenHash: string, now: WallMs): JoinVerdict {
  if (joinToken.usedFor !== null) return joinToken.usedFor === tokenHash ? 'repeated' : 'used';
  return now < joinToken.expiresAt ? 'join' : 'expired';
}
