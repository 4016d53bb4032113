import type { WorkerReason } from '../../../protocol/explain.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { JobWait } from '../../../protocol/job-wait.ts';
import type { Requirements } from '../../../protocol/job.ts';
import type { Offering } from '../model.ts';
import { compileMatcher, type Mismatch } from './matching.ts';
import type { FixedBlocker } from './queue-rules.ts';
import { describeIneligibility, describeTroubles, wordFor, words } from './wait-texts.ts';
import type { IneligibilityReason } from './worker-rules.ts';

export interface Candidate {
  readonly id: WorkerId;
  readonly name: string;
  /** Whether the worker is the orchestrator's own machine. */
  readonly local: boolean;
  /** False for a worker that never registered. Then only the properties that the admin has set are known. */
  readonly isKnown: boolean;
  readonly offering: Offering;
  /** Dataset versions on the worker's rig. */
  readonly datasets: readonly string[];
  readonly ineligibilityReasons: readonly IneligibilityReason[];
}

/** The evaluation of a worker for one job. */
export interface Judged {
  readonly candidate: Candidate;
  readonly mismatches: readonly Mismatch[];
  /** Whether the worker would take the job now. */
  readonly fits: boolean;
}

/** Evaluates each worker for a job with these requirements. */
export function judge(needs: Requirements, candidates: readonly Candidate[]): readonly Judged[] {
  const matcher = compileMatcher(needs);
  return candidates.map(candidate => {
    const all = matcher(candidate.offering);
    // Unknown properties of a worker that never registered do not count against it.
    const mismatches = candidate.isKnown ? all : all.filter(({ code }) => words[code].isSaidByAdmin);
    return { candidate, mismatches, fits: mismatches.length + candidate.ineligibilityReasons.length === 0 };
  });
}

/**
 * Whether too few workers meet the requirements, even when all are idle. Workers that never registered do not count. A
 * single worker with exactly `nodes` machines is enough.
 */
export function isUnsatisfiable(judged: readonly Judged[], nodes: number): boolean {
  const takers = judged.filter(({ candidate, mismatches }) => candidate.isKnown && mismatches.length === 0);
  return takers.length < nodes && !takers.some(({ candidate }) => candidate.offering.nodes === nodes);
}

/** The number of free workers for a job that trains on several workers. */
export interface Gathering {
  /** Number of workers that could take part now. */
  readonly free: number;
  readonly wanted: number;
}

/** Returns how many workers are free for a job that needs several. Null when enough are free, or when one has all machines. */
export function gatheringOf(judged: readonly Judged[], nodes: number): Gathering | null {
  const fitting = judged.filter(({ fits }) => fits);
  if (nodes === 1 || fitting.length >= nodes) return null;
  return fitting.some(({ candidate }) => candidate.offering.nodes === nodes)
    ? null
    : { free: fitting.length, wanted: nodes };
}

export const describeGathering = ({ free, wanted }: Gathering): string =>
  `Needs ${wanted} workers at the same time, and ${free} of them ${free === 1 ? 'is' : 'are'} free. It starts when all are`;

/** Returns the registered workers that meet the requirements if all of them are offline; otherwise empty. */
export function offlineTakers(judged: readonly Judged[]): readonly Candidate[] {
  const takers = judged.flatMap(({ candidate, mismatches }) =>
    candidate.isKnown && mismatches.length === 0 ? [candidate] : [],
  );
  const isOffline = ({ ineligibilityReasons }: Candidate): boolean =>
    ineligibilityReasons.some(({ code }) => code === 'offline');
  return takers.every(isOffline) ? takers : [];
}

/** Whether every registered worker that meets the job's target (local or remote) has too few GPUs. */
function areGpusMissing(judged: readonly Judged[]): boolean {
  const onTarget = judged.filter(
    ({ candidate, mismatches }) => candidate.isKnown && !mismatches.some(({ code }) => code === 'target'),
  );
  return onTarget.length > 0 && onTarget.every(({ mismatches }) => mismatches.some(isGpuCount));
}

const isGpuCount = ({ code }: Mismatch): boolean => code === 'gpu_count';

/** Describes why no worker takes a job, in one line. Counts each worker once, by its first reason or mismatch. */
export function whyNobody(judged: readonly Judged[]): string {
  if (judged.length === 0) return 'No idle workers: no worker has been created yet';
  const total = judged.length;
  const matching = judged.filter(({ mismatches }) => mismatches.length === 0);
  const firstMismatches = judged.flatMap(({ mismatches }) => mismatches.slice(0, 1));
  const firstReasons = matching.flatMap(({ candidate: { name, ineligibilityReasons } }) =>
    ineligibilityReasons.slice(0, 1).map(reason => ({ name, reason })),
  );
  const lacksGpus = areGpusMissing(judged);
  const gpuCountFirst = firstMismatches.toSorted((a, b) => Number(isGpuCount(b)) - Number(isGpuCount(a)));
  const reasons = lacksGpus
    ? [...describeMismatches(gpuCountFirst), ...describeReasons(firstReasons)]
    : [...describeReasons(firstReasons), ...describeMismatches(firstMismatches)];
  const headline = lacksGpus ? 'GPU requirements not met' : 'No idle workers';
  return `${headline}: 0 of ${total} ${total === 1 ? 'worker' : 'workers'} can take this job: ${reasons.join(', ')}`;
}

/**
 * Returns all reasons why a worker does not take the job. `avoid`: the worker that had the job last. It has one more
 * reason, because other workers are tried first.
 */
export function reasonsOf({ candidate, mismatches }: Judged, avoid: WorkerId | null): WorkerReason[] {
  return [
    ...candidate.ineligibilityReasons.map(reason => ({
      code: reason.code,
      wanted: null,
      ...describeIneligibility(reason),
    })),
    ...mismatches.map(mismatch => ({
      code: mismatch.code,
      wanted: mismatch.wanted,
      there: mismatch.offered,
      detail: words[mismatch.code].detail(mismatch.wanted, mismatch.offered),
    })),
    ...(candidate.id === avoid ? [avoided] : []),
  ];
}

const avoided: WorkerReason = {
  code: 'avoid_previous',
  wanted: null,
  there: null,
  detail: 'It had this job last: it gets it again only when no other worker takes it',
};

interface NamedReason {
  readonly name: string;
  readonly reason: IneligibilityReason;
}

/** Maximum number of workers with GPU trouble to name in the summary line. */
const maxNamed = 3;

function describeReasons(all: readonly NamedReason[]): readonly string[] {
  const groups = Map.groupBy(all, ({ reason }) => wordFor(reason));
  return [...groups].map(([word, members]) => {
    const troubles = members.flatMap(({ name, reason }) =>
      reason.code === 'gpu_trouble' ? [`${name}: ${describeTroubles(reason.troubles)}`] : [],
    );
    const who = troubles.length === 0 ? '' : ` (${troubles.slice(0, maxNamed).join('; ')})`;
    return `${members.length} ${word}${who}`;
  });
}

function describeMismatches(mismatches: readonly Mismatch[]): readonly string[] {
  const groups = Map.groupBy(mismatches, ({ code, wanted, offered }) => words[code].heading(wanted, offered));
  return [...groups].map(([what, members]) => {
    const listed = members.filter(({ code }) => words[code].isListed);
    const available = [...new Set(listed.map(({ offered }) => offered))].toSorted().slice(0, 5);
    const have = available.length === 0 ? '' : ` (have ${available.join(', ')})`;
    return `${members.length} ${what}${have}`;
  });
}

/** Converts a blocker to its machine-readable form. `isoAt` formats a monotonic time. */
export function waitOf(blocker: FixedBlocker, isoAt: (at: number) => string): JobWait {
  const { code } = blocker;
  return { code, params: paramsOf(blocker, isoAt), workers: [] };
}

function paramsOf(blocker: FixedBlocker, isoAt: (at: number) => string): JobWait['params'] {
  switch (blocker.code) {
    case 'approval':
      return {};
    case 'backoff':
      return { until: isoAt(blocker.until) };
    case 'paused':
      return { by: blocker.by, ...(blocker.note === null ? {} : { note: blocker.note }) };
    case 'limit': {
      const { of, name, running, limit } = blocker;
      return { running, max: limit, ...(name === null ? {} : { [of]: name }) };
    }
  }
}

/** Returns a wait without parameters. */
export const plainWait = (code: string): JobWait => ({ code, params: {}, workers: [] });

/** Groups codes, such as those of failed checks, and counts each. */
const countCodes = (codes: readonly string[]): JobWait['workers'] =>
  [...Map.groupBy(codes, code => code)].map(([code, all]) => ({ code, count: all.length }));

/**
 * Returns why no worker takes a job, in machine-readable form. Counts each matching worker by its first reason, or if no
 * worker matches, each registered worker by its first mismatch.
 */
export function waitForWorkers(judged: readonly Judged[]): JobWait {
  if (judged.length === 0) return plainWait('no_workers');
  const takers = judged.flatMap(({ mismatches, candidate }) => (mismatches.length === 0 ? [candidate] : []));
  const codes = takers.flatMap(({ ineligibilityReasons }) =>
    ineligibilityReasons.slice(0, 1).map(({ code }) => code),
  );
  // If registered workers exist and none of them fits, a worker that never registered does not count.
  const isUnmet = judged.some(({ candidate }) => candidate.isKnown) && isUnsatisfiable(judged, 1);
  if (codes.length === 0 || isUnmet) {
    const unmet = judged.flatMap(({ candidate, mismatches }) =>
      candidate.isKnown ? mismatches.slice(0, 1).map(({ code }) => code) : [],
    );
    return { code: 'unmet', params: {}, workers: countCodes(unmet) };
  }
  const [only, ...others] = takers;
  // Only the id: users who may not list workers do not learn the name.
  const params: JobWait['params'] = only === undefined || others.length > 0 ? {} : { worker_id: only.id };
  return { code: 'busy', params, workers: countCodes(codes) };
}
