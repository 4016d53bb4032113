import { type Explanation, WaitCode, type WaitReason } from '../../../protocol/explain.ts';
import type { JobWait } from '../../../protocol/job-wait.ts';
import type { Requirements } from '../../../protocol/job.ts';
import type { Core } from '../core.ts';
import type { Job, PendingJob } from '../model.ts';
import type { Read } from '../ports/index.ts';
import { isQueued } from '../rules/dependencies.ts';
import { shapeOf } from '../rules/matching.ts';
import type { JobBlocker } from '../rules/queue-rules.ts';
import { describeBlocker } from '../rules/wait-texts.ts';
import {
  type Candidate,
  type Judged,
  offlineTakers,
  plainWait,
  reasonsOf,
  waitOf,
} from '../rules/waiting.ts';
import { forecast, nextFreeMs, type PredictedStart, predictStart } from './forecast.ts';
import { createParentForecast, parentsReason } from './parent-forecast.ts';
import { createPoolLines } from './pool-lines.ts';
import { shownStatus } from './shown-status.ts';
import { createJobBlockers, createVerdicts, type Verdict } from './verdicts.ts';

/** Maximum number of jobs ahead that are evaluated. */
const maxAhead = 300;

/** Explains why jobs wait, from the facts at the explainer's creation. The methods share the results of costly evaluations. */
export interface Explainer {
  /** Returns the most important reason in one line, and in machine-readable form. */
  why(job: PendingJob): { readonly reason: string; readonly wait: JobWait };
  /** Returns the full explanation. Also works for a job that is not stored. */
  explain(job: Job): Explanation;
  /** Returns when and where the job is predicted to start; null if that cannot be predicted. */
  predict(job: PendingJob): PredictedStart | null;
  /** Returns a key that is equal for jobs that wait for the same reason. Much cheaper than `why`. */
  reasonKey(job: PendingJob): string;
  /** Returns the number of workers that meet the requirements, and the ms until enough of them are free; null if unknown. */
  takersFor(needs: Requirements): { readonly count: number; readonly nextFreeMs: number | null };
  /** Whether too few registered workers meet these requirements, even if all were idle. */
  isUnsatisfiable(needs: Requirements): boolean;
  /** Returns the workers that meet these requirements if all of them are offline; otherwise empty. */
  offlineTakers(needs: Requirements): readonly Pick<Candidate, 'id' | 'name'>[];
}

/**
 * Creates an explainer. It uses the same facts and functions as dispatch (docs/internals/semantics.md, section 6), and
 * changes nothing.
 */
export function createExplainer(core: Core, read: Read): Explainer {
  const now = core.clock.mono();
  const { verdictOf, barredFor, judgedFor } = createVerdicts(core, read, now);
  const isoAt = (at: number): string => core.clock.iso(core.clock.wall() + at - now);
  const blockersFor = createJobBlockers(core, read);
  const pools = createPoolLines(core, read);

  /** Returns the jobs ahead that have no blocker; null when there are too many to evaluate. */
  const rivalsOf = (job: PendingJob): readonly PendingJob[] | null => {
    const ahead = read.pendingAhead(job, maxAhead + 1);
    return ahead.length > maxAhead ? null : ahead.filter(other => blockersFor(other).length === 0);
  };

  const aheadOf = (job: PendingJob, judged: readonly Judged[]): readonly ReasonWithWait[] => {
    const takes = (other: PendingJob): boolean =>
      judgedFor(other).some(({ fits }, index) => fits && judged[index]?.fits === true);
    const rivals = rivalsOf(job)?.filter(takes).length ?? Number.POSITIVE_INFINITY;
    return rivals === 0 ? [] : [describeJobsAhead(rivals)];
  };

  const reasonsFor = (job: PendingJob): readonly ReasonWithWait[] => {
    const described = blockersFor(job).map(blocker =>
      blocker.code === 'after'
        ? parentsReason(core, read, job)
        : { ...describeBlocker(blocker, isoAt), wait: waitOf(blocker, isoAt) },
    );
    const lacksLocalWorker = job.spec.requirements.target === 'local' && !core.runsLocally();
    const reasons = [
      ...(core.store.acceptsWrites() ? [] : [noStorage]),
      ...(lacksLocalWorker ? [noLocalWorker] : []),
      ...described,
    ];
    if (reasons.length > 0) return reasons.toSorted((a, b) => orderOf(a) - orderOf(b));
    if (!verdictOf(job.spec.requirements).someFit) return [];
    const judged = judgedFor(job);
    if (judged.some(({ fits }) => fits)) return aheadOf(job, judged);
    return [describeBackoff(isoAt(core.deadlines.backoff.get(job.id) ?? now))];
  };

  const summaryOf = (job: PendingJob, [first]: readonly ReasonWithWait[]) => {
    if (first !== undefined) return { reason: first.detail, wait: first.wait };
    const request = pools.requestFor(job);
    if (request !== null) return request;
    const verdict = verdictOf(job.spec.requirements);
    return verdict.someFit
      ? { reason: 'An idle worker fits: the job is next', wait: plainWait('next') }
      : { reason: verdict.whyNobody(), wait: verdict.wait() };
  };

  /** Returns the facts for a forecast of `job`. `depth`: number of dependencies between `job` and the requested job. */
  const forecastFacts = (job: PendingJob, depth = 0) => {
    const ahead = rivalsOf(job)?.map(({ spec }) => verdictOf(spec.requirements)) ?? null;
    const parentsInMs = parentsIn(job, depth);
    return { job, verdict: judgedFor(job), reasons: reasonsFor(job), parentsInMs, ahead };
  };

  const parentsIn = createParentForecast(core, read, (job, depth) =>
    predictStart(core, read, forecastFacts(job, depth)),
  );

  return {
    why: job => summaryOf(job, reasonsFor(job)),
    predict: job => predictStart(core, read, forecastFacts(job)).start,
    reasonKey: job =>
      reasonKey(job, blockersFor(job), [barredFor(job), pools.requestFor(job)?.wait.params['pool']]),
    takersFor: needs => takersOf(core, read, verdictOf(needs)),
    isUnsatisfiable: needs => verdictOf(needs).isUnsatisfiable,
    offlineTakers: needs => offlineTakers(verdictOf(needs).judged),
    explain(job) {
      if (job.status !== 'pending') return { ...notWaiting, job_id: job.id, status: job.status };
      const facts = forecastFacts(job);
      const { verdict, reasons } = facts;
      return {
        job_id: job.id,
        status: shownStatus(job),
        summary: summaryOf(job, reasons).reason,
        unsatisfiable: verdictOf(job.spec.requirements).isUnsatisfiable,
        position: isQueued(job) ? read.position(job) : null,
        reasons: reasons.map(({ code, wait: { params }, detail }) => ({ code, params, detail })),
        workers: verdict.map(judged => workerLine(judged, job)),
        pools: [...pools.linesOf(job)],
        ...forecast(core, read, facts),
      };
    },
  };
}

/** Returns a key for the reason why a job waits. Omits the end of a backoff, because it differs for each job. */
function reasonKey(
  { spec, dependencies }: PendingJob,
  blockers: readonly JobBlocker[],
  others: readonly unknown[],
): string {
  if (blockers.length === 0) return JSON.stringify([shapeOf(spec.requirements), ...others]);
  const keyOf = (blocker: JobBlocker): unknown => {
    if (blocker.code === 'after') return [blocker.code, dependencies?.parents];
    return blocker.code === 'backoff' ? blocker.code : blocker;
  };
  return JSON.stringify(blockers.map(keyOf));
}

function takersOf(core: Core, read: Read, { judged, nodes }: Verdict) {
  const takers = judged.filter(({ mismatches }) => mismatches.length === 0);
  return { count: takers.length, nextFreeMs: nextFreeMs(core, read, takers, nodes) };
}

const workerLine = (judged: Judged, job: PendingJob): Explanation['workers'][number] => ({
  worker_id: judged.candidate.id,
  name: judged.candidate.name,
  local: judged.candidate.local,
  fits: judged.fits,
  datasets: datasetsAt(judged.candidate, job.spec.requirements),
  reasons: reasonsOf(judged, job.attempt?.workerId ?? null),
});

/** A reason, with its machine-readable form. */
interface ReasonWithWait extends Omit<WaitReason, 'params'> {
  readonly wait: JobWait;
}

function describeJobsAhead(count: number): ReasonWithWait {
  const params: JobWait['params'] = count > maxAhead ? {} : { count };
  const goFirst = count === 1 ? '1 job that it fits goes' : `${count} jobs that it fits go`;
  return {
    code: 'ahead',
    detail: `An idle worker fits, and ${count > maxAhead ? 'hundreds of jobs go' : goFirst} first`,
    wait: { code: 'ahead', params, workers: [] },
  };
}

const describeBackoff = (until: string): ReasonWithWait => ({
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

const noStorage: ReasonWithWait = {
  code: 'storage',
  wait: plainWait('storage'),
  detail:
    'The disk of the orchestrator refuses changes at present: no job starts until it accepts them again',
};

const noLocalWorker: ReasonWithWait = {
  code: 'target',
  wait: plainWait('target'),
  detail:
    'Waits until the machine of the orchestrator runs jobs, too: turn that on in Settings, or with --local-worker',
};

const orderOf = ({ code }: ReasonWithWait): number => WaitCode.options.indexOf(code);

function datasetsAt(
  { datasets }: Candidate,
  { data }: Requirements,
): Explanation['workers'][number]['datasets'] {
  if (data === undefined) return null;
  return { here: data.filter(version => datasets.includes(version)).length, wanted: data.length };
}
