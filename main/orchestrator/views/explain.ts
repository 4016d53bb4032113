import { type Explanation, WaitCode, type WaitReason } from '../../../protocol/explain.ts';
import type { JobWait } from '../../../protocol/job-wait.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { Requirements } from '../../../protocol/job.ts';
import type { Core } from '../core.ts';
import { forecast, type PredictedStart, predictStart } from './forecast.ts';
import { createParentForecast, parentsReason } from './parent-forecast.ts';
import { createPoolLines } from './pool-lines.ts';
import { shownStatus } from './shown-status.ts';
import {
  barredWorker,
  type JobBlocker,
  blockersOf,
  blockersOfAll,
  blockersOfTeam,
  blockersOfUser,
} from '../rules/queue-rules.ts';
import { isQueued } from '../rules/dependencies.ts';
import { inLine } from '../memory/job-queue.ts';
import { shapeOf } from '../rules/matching.ts';
import type { Job, PendingJob, Worker } from '../model.ts';
import type { Read } from '../ports/index.ts';
import { candidacyOf, offeringIn, settingsOf } from '../memory/eligibility.ts';
import {
  type Candidate,
  describeGathering,
  gatheringOf,
  isUnsatisfiable,
  judge,
  type Judged,
  offlineTakers,
  plainWait,
  reasonsOf,
  waitForWorkers,
  waitOf,
  whyNobody,
} from '../rules/waiting.ts';
import { describeBlocker } from '../rules/wait-texts.ts';
import { withBatchedReads } from '../memory/store-wrappers.ts';

/** Maximum number of jobs ahead that are evaluated. */
const maxAhead = 300;

/** Explains why jobs wait at one moment. Its methods share the results of costly evaluations. */
export interface Explainer {
  /** Returns the reason in one line, and the same for programs. */
  why(job: PendingJob): { readonly reason: string; readonly wait: JobWait };
  /** Returns the full explanation. Also works for a job that is not stored. */
  explain(job: Job): Explanation;
  /** Returns when and where the job is predicted to start; null if that cannot be predicted. */
  predict(job: PendingJob): PredictedStart | null;
  /** Returns true if no worker that ever registered could take a job with these requirements. */
  isUnsatisfiable(needs: Requirements): boolean;
  /** Returns the workers that could take a job with these requirements if all of them are offline; otherwise an empty list. */
  offlineTakers(needs: Requirements): readonly Pick<Candidate, 'id' | 'name'>[];
}

/** Evaluates which workers could take a job, once for all jobs with the same requirements. */
function createVerdicts(core: Core, read: Read, now: number) {
  const candidates = lazily(() => {
    const all = withBatchedReads(read);
    return all.workers().map(worker => candidateOf(core, all, worker));
  });
  const verdictOf = remembered(shapeOf, (needs: Requirements): Verdict => {
    const judged = judge(needs, candidates());
    const nodes = needs.nodes ?? 1;
    const gathering = gatheringOf(judged, nodes);
    const isGathering = gathering !== null && gathering.free > 0 && !isUnsatisfiable(judged, nodes);
    return {
      judged,
      nodes,
      isUnsatisfiable: isUnsatisfiable(judged, nodes),
      someFit: gathering === null && judged.some(({ fits }) => fits),
      whyNobody: lazily(() => (isGathering ? describeGathering(gathering) : whyNobody(judged))),
      wait: lazily(() =>
        isGathering ? { code: 'gathering', params: { ...gathering }, workers: [] } : waitForWorkers(judged),
      ),
    };
  });

  const barredFor = (job: PendingJob): WorkerId | null =>
    barredWorker(inLine(job), core.deadlines.backoff.get(job.id) ?? 0, now);

  /** Returns the evaluation for a job. A worker that lost this job does not fit. */
  const judgedFor = (job: PendingJob): readonly Judged[] => {
    const { judged } = verdictOf(job.spec.requirements);
    const barred = barredFor(job);
    return barred === null
      ? judged
      : judged.map(one => (one.candidate.id === barred ? { ...one, fits: false } : one));
  };

  return { verdictOf, judgedFor };
}

/**
 * Creates an explainer. It reads the same facts with the same functions as dispatch, and changes nothing
 * (docs/internals/semantics.md, section 6).
 */
export function createExplainer(core: Core, read: Read): Explainer {
  const now = core.clock.mono();
  const { verdictOf, judgedFor } = createVerdicts(core, read, now);
  const isoAt = (at: number): string => core.clock.iso(core.clock.wall() + at - now);
  const blockersFor = createJobBlockers(core, read);
  const pools = createPoolLines(core, read);

  /** Returns the jobs ahead that have no blocker; null when there are too many to evaluate. */
  const rivalsOf = (job: PendingJob): readonly PendingJob[] | null => {
    const ahead = read.pendingAhead(job, maxAhead + 1);
    return ahead.length > maxAhead ? null : ahead.filter(other => blockersFor(other).length === 0);
  };

  const aheadOf = (job: PendingJob, judged: readonly Judged[]): readonly ToldReason[] => {
    const takes = (other: PendingJob): boolean =>
      judgedFor(other).some(({ fits }, index) => fits && judged[index]?.fits === true);
    const rivals = rivalsOf(job)?.filter(takes).length ?? Number.POSITIVE_INFINITY;
    if (rivals === 0) return [];
    const params: JobWait['params'] = rivals > maxAhead ? {} : { count: rivals };
    return [
      { code: 'ahead', detail: describeJobsAhead(rivals), wait: { code: 'ahead', params, workers: [] } },
    ];
  };

  const reasonsFor = (job: PendingJob): readonly ToldReason[] => {
    const described = blockersFor(job).map(blocker =>
      blocker.code === 'after'
        ? parentsReason(core, read, job)
        : { ...describeBlocker(blocker, isoAt), wait: waitOf(blocker, isoAt) },
    );
    const isUnmanned = job.spec.requirements.target === 'local' && !core.runsLocally();
    const reasons = [
      ...(core.store.acceptsWrites() ? [] : [noStorage]),
      ...(isUnmanned ? [noLocalWorker] : []),
      ...described,
    ];
    if (reasons.length > 0) return reasons.toSorted((a, b) => orderOf(a) - orderOf(b));
    if (!verdictOf(job.spec.requirements).someFit) return [];
    const judged = judgedFor(job);
    if (judged.some(({ fits }) => fits)) return aheadOf(job, judged);
    return [describeBackoff(isoAt(core.deadlines.backoff.get(job.id) ?? now))];
  };

  const summaryOf = (job: PendingJob, [first]: readonly ToldReason[]) => {
    if (first !== undefined) return { reason: first.detail, wait: first.wait };
    const request = pools.requestFor(job);
    if (request !== null) return request;
    const verdict = verdictOf(job.spec.requirements);
    return verdict.someFit
      ? { reason: 'An idle worker fits: the job is next', wait: plainWait('next') }
      : { reason: verdict.whyNobody(), wait: verdict.wait() };
  };

  /** Returns the facts that a forecast of the job needs. `depth`: how many jobs wait for each other from the asked one to this one. */
  const knownAbout = (job: PendingJob, depth = 0) => {
    const ahead = rivalsOf(job)?.map(({ spec }) => verdictOf(spec.requirements)) ?? null;
    const parentsInMs = parentsIn(job, depth);
    return { job, verdict: judgedFor(job), reasons: reasonsFor(job), parentsInMs, ahead };
  };

  const parentsIn = createParentForecast(core, read, (job, depth) =>
    predictStart(core, read, knownAbout(job, depth)),
  );

  return {
    why: job => summaryOf(job, reasonsFor(job)),
    predict: job => predictStart(core, read, knownAbout(job)).start,
    isUnsatisfiable: needs => verdictOf(needs).isUnsatisfiable,
    offlineTakers: needs => offlineTakers(verdictOf(needs).judged),
    explain(job) {
      if (job.status !== 'pending') return { ...notWaiting, job_id: job.id, status: job.status };
      const known = knownAbout(job);
      const { verdict, reasons } = known;
      return {
        job_id: job.id,
        status: shownStatus(job),
        summary: summaryOf(job, reasons).reason,
        unsatisfiable: verdictOf(job.spec.requirements).isUnsatisfiable,
        position: isQueued(job) ? read.position(job) : null,
        reasons: reasons.map(({ code, wait: { params }, detail }) => ({ code, params, detail })),
        workers: verdict.map(judged => workerVerdict(judged, job)),
        pools: [...pools.linesOf(job)],
        ...forecast(core, read, known),
      };
    },
  };
}

/** The evaluation of all workers for jobs with the same requirements. */
interface Verdict {
  readonly judged: readonly Judged[];
  /** Number of workers that the job needs at once, unless one has all machines. */
  readonly nodes: number;
  readonly isUnsatisfiable: boolean;
  readonly someFit: boolean;
  readonly whyNobody: () => string;
  readonly wait: () => JobWait;
}

/** A reason for people, and the same for programs. */
interface ToldReason extends Omit<WaitReason, 'params'> {
  readonly wait: JobWait;
}

function describeJobsAhead(count: number): string {
  if (count > maxAhead) return 'An idle worker fits, and hundreds of jobs go first';
  return `An idle worker fits, and ${count} ${count === 1 ? 'job that it fits goes' : 'jobs that it fits go'} first`;
}

const describeBackoff = (until: string): ToldReason => ({
  code: 'backoff',
  detail: `Waits until ${until} for the worker that lost it, or for another one`,
  wait: { code: 'backoff', params: { until }, workers: [] },
});

const notWaiting = {
  summary: null,
  unsatisfiable: false,
  position: null,
  reasons: [],
  workers: [],
  pools: [],
  predicted_start: null,
  no_prediction: 'It does not wait',
};

const noStorage: ToldReason = {
  code: 'storage',
  wait: plainWait('storage'),
  detail: 'The disk of the orchestrator takes no changes at present: nothing is given out until it does',
};

const noLocalWorker: ToldReason = {
  code: 'target',
  wait: plainWait('target'),
  detail:
    'Waits until the machine of the orchestrator runs jobs, too: turn that on in Settings, or with --local-worker',
};

const orderOf = ({ code }: ToldReason): number => WaitCode.options.indexOf(code);

function createJobBlockers(core: Core, read: Read): (job: PendingJob) => readonly JobBlocker[] {
  const settings = lazily(() => settingsOf(read));
  const live = lazily(() => read.liveJobs());
  return job => {
    const readyAt = core.deadlines.backoff.get(job.id) ?? 0;
    const { maxRunning, maxRunningPerUser } = settings();
    const running = maxRunning === null ? 0 : live().length;
    const ofUser = maxRunningPerUser === null ? 0 : live().filter(({ user }) => user === job.user).length;
    const ofTeam = job.team === null ? 0 : live().filter(({ team }) => team === job.team).length;
    return [
      ...blockersOf(inLine(job), readyAt, core.clock.mono()),
      ...blockersOfAll(settings(), running),
      ...blockersOfUser(settings(), job.user, ofUser),
      ...blockersOfTeam(settings(), job.team, ofTeam),
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

const workerVerdict = (judged: Judged, job: PendingJob): Explanation['workers'][number] => ({
  worker_id: judged.candidate.id,
  name: judged.candidate.name,
  local: judged.candidate.local,
  fits: judged.fits,
  datasets: datasetsAt(judged.candidate, job.spec.requirements),
  reasons: reasonsOf(judged, job.attempt?.workerId ?? null),
});

function datasetsAt(
  { datasets }: Candidate,
  { data }: Requirements,
): Explanation['workers'][number]['datasets'] {
  if (data === undefined) return null;
  return { here: data.filter(version => datasets.includes(version)).length, wanted: data.length };
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

function remembered<I, T>(keyOf: (input: I) => string, make: (input: I) => T): (input: I) => T {
  const known = new Map<string, { readonly value: T }>();
  return input => {
    const key = keyOf(input);
    const made = known.get(key) ?? { value: make(input) };
    known.set(key, made);
    return made.value;
  };
}
