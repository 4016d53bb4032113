import type { WorkerId } from '../../../protocol/ids.ts';
import type { JobWait } from '../../../protocol/job-wait.ts';
import type { Requirements } from '../../../protocol/job.ts';
import type { Core } from '../core.ts';
import { candidacyOf, offeringIn, settingsOf } from '../memory/eligibility.ts';
import { toCandidate } from '../memory/job-queue.ts';
import { withBatchedReads } from '../memory/store-wrappers.ts';
import type { PendingJob, Worker } from '../model.ts';
import type { Read } from '../ports/index.ts';
import { shapeOf } from '../rules/matching.ts';
import {
  barredWorker,
  type JobBlocker,
  blockersOf,
  blockersOfAll,
  blockersOfTeam,
  blockersOfUser,
} from '../rules/queue-rules.ts';
import {
  type Candidate,
  describeGathering,
  gatheringOf,
  isUnsatisfiable,
  judge,
  type Judged,
  waitForWorkers,
  whyNobody,
} from '../rules/waiting.ts';

/** The evaluation of all workers for jobs with the same requirements. */
export interface Verdict {
  readonly judged: readonly Judged[];
  /** Number of workers that the job needs, unless one worker has all machines. */
  readonly nodes: number;
  readonly isUnsatisfiable: boolean;
  readonly someFit: boolean;
  readonly whyNobody: () => string;
  readonly wait: () => JobWait;
}

/** Evaluates which workers could take a job. Evaluates once for all jobs with the same requirements. */
export function createVerdicts(core: Core, read: Read, now: number) {
  const candidates = lazy(() => {
    const all = withBatchedReads(read);
    return all.workers().map(worker => candidateOf(core, all, worker));
  });
  const verdictOf = memoize(shapeOf, (needs: Requirements): Verdict => {
    const judged = judge(needs, candidates());
    const nodes = needs.nodes ?? 1;
    const gathering = gatheringOf(judged, nodes);
    const isGathering = gathering !== null && gathering.free > 0 && !isUnsatisfiable(judged, nodes);
    return {
      judged,
      nodes,
      isUnsatisfiable: isUnsatisfiable(judged, nodes),
      someFit: gathering === null && judged.some(({ fits }) => fits),
      whyNobody: lazy(() => (isGathering ? describeGathering(gathering) : whyNobody(judged))),
      wait: lazy(() =>
        isGathering ? { code: 'gathering', params: { ...gathering }, workers: [] } : waitForWorkers(judged),
      ),
    };
  });

  const barredFor = (job: PendingJob): WorkerId | null =>
    barredWorker(toCandidate(job), core.deadlines.backoff.get(job.id) ?? 0, now);

  /** Returns the evaluation for a job. The worker that lost this job does not fit during the job's backoff. */
  const judgedFor = (job: PendingJob): readonly Judged[] => {
    const { judged } = verdictOf(job.spec.requirements);
    const barred = barredFor(job);
    return barred === null
      ? judged
      : judged.map(verdict => (verdict.candidate.id === barred ? { ...verdict, fits: false } : verdict));
  };

  return { verdictOf, barredFor, judgedFor };
}

/** Returns a function that returns the blockers of a job. All its calls share one read of the settings and the live jobs. */
export function createJobBlockers(core: Core, read: Read): (job: PendingJob) => readonly JobBlocker[] {
  const settings = lazy(() => settingsOf(read));
  const live = lazy(() => read.liveJobs());
  return job => {
    const readyAt = core.deadlines.backoff.get(job.id) ?? 0;
    const { maxRunning, maxRunningPerUser } = settings();
    const running = maxRunning === null ? 0 : live().length;
    const runningOfUser =
      maxRunningPerUser === null ? 0 : live().filter(({ user }) => user === job.user).length;
    const runningOfTeam = job.team === null ? 0 : live().filter(({ team }) => team === job.team).length;
    return [
      ...blockersOf(toCandidate(job), readyAt, core.clock.mono()),
      ...blockersOfAll(settings(), running),
      ...blockersOfUser(settings(), job.user, runningOfUser),
      ...blockersOfTeam(settings(), job.team, runningOfTeam),
    ];
  };
}

function candidateOf(core: Core, read: Read, worker: Worker): Candidate {
  const { id, name, local, agent } = worker;
  const { ineligibilityReasons } = candidacyOf(core, read, worker);
  return {
    id,
    name,
    local,
    isKnown: agent !== null,
    offering: offeringIn(read, worker),
    datasets: agent?.datasets ?? [],
    ineligibilityReasons,
  };
}

function lazy<T>(make: () => T): () => T {
  let cached: { readonly value: T } | null = null;
  return () => (cached ??= { value: make() }).value;
}

function memoize<I, T>(keyOf: (input: I) => string, make: (input: I) => T): (input: I) => T {
  const results = new Map<string, { readonly value: T }>();
  return input => {
    const key = keyOf(input);
    const result = results.get(key) ?? { value: make(input) };
    results.set(key, result);
    return result.value;
  };
}
