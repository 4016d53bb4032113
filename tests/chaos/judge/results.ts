import { type AttemptEvidence, type JobCase, runsOf, type Violation } from './violation.ts';

/** Checks that the outcomes of a job and its attempts agree with the journals of its trainers. */
export function judgeResults(jobCase: JobCase): readonly Violation[] {
  const { evidence, runs } = jobCase;
  const { job } = evidence;
  const violation = (rule: string, what: string): Violation => ({ rule, what, job: job.id });
  const accepted = job.attempts.filter(({ outcome }) => outcome === 'completed');
  const wanted = job.status === 'completed' ? 1 : 0;
  const wrongCount =
    accepted.length === wanted
      ? []
      : [
          violation(
            'one completed attempt per completed job',
            `${accepted.length} attempts completed, but the job is ${job.status}`,
          ),
        ];
  const attemptIds = new Set(job.attempts.map(({ attempt_id: id }) => id));
  const unknownTrainers = runs
    .filter(({ attempt }) => !attemptIds.has(attempt))
    .map(({ pid, attempt }) =>
      violation('every trainer belongs to an attempt', `trainer ${pid} ran for ${attempt}`),
    );
  const unended = job.attempts
    .filter(({ outcome }) => outcome === null)
    .map(({ attempt }) => violation('every attempt has an outcome', `attempt ${attempt} has no outcome`));
  return [
    ...wrongCount,
    ...unknownTrainers,
    ...unended,
    ...accepted.flatMap(attempt => judgeAccepted(jobCase, attempt, violation)),
    ...judgeFailure(jobCase, violation),
    ...judgeRetries(jobCase, violation),
    ...judgeOverlaps(jobCase, violation),
  ];
}

type MakeViolation = (rule: string, what: string) => Violation;

function judgeAccepted(
  jobCase: JobCase,
  attempt: AttemptEvidence,
  violation: MakeViolation,
): readonly Violation[] {
  const codes = runsOf(jobCase, attempt).map(({ code }) => code);
  return codes.includes(0)
    ? []
    : [
        violation(
          'a completed attempt has a trainer that exited with 0',
          `attempt ${attempt.attempt} is completed, but its trainers ended with ${JSON.stringify(codes)}`,
        ),
      ];
}

/** Causes of failure after which a job is retried. */
const lossCauses: ReadonlySet<string | null> = new Set(['worker_lost', 'preempted']);

function judgeFailure(jobCase: JobCase, violation: MakeViolation): readonly Violation[] {
  const { evidence, planned, isCancelled, killed } = jobCase;
  const { job } = evidence;
  const last = job.attempts.at(-1);
  const own = last === undefined ? [] : runsOf(jobCase, last);
  const wrong = (why: string): readonly Violation[] => [
    violation('every end has a true cause', `${job.status} (${job.cause}): ${why}; ${job.error_message}`),
  ];
  if (job.status === 'cancelled') return isCancelled ? [] : wrong('no user cancelled it');
  if (job.status !== 'failed' || lossCauses.has(job.cause)) return [];
  if (job.cause === 'trainer_exit') {
    const isPlanned = planned.exitCode !== 0 && own.some(({ code }) => code === planned.exitCode);
    return isPlanned && last?.exit_code === planned.exitCode
      ? []
      : wrong(
          `its trainers exited with ${JSON.stringify(own.map(({ code }) => code))}, the API reports ${last?.exit_code}, and ${planned.exitCode} was planned`,
        );
  }
  if (job.cause === 'trainer_signal' && own.some(({ pid }) => killed.has(pid))) return [];
  return wrong('the run did not cause this');
}

function judgeRetries({ evidence, planned }: JobCase, violation: MakeViolation): readonly Violation[] {
  const { job } = evidence;
  const charged = job.attempts.filter(({ cause }) => lossCauses.has(cause)).length;
  const isLost = job.status === 'failed' && lossCauses.has(job.cause);
  const recorded = `${charged} attempts were lost, ${planned.maxRetries} retries are allowed`;
  if (charged > planned.maxRetries + (isLost ? 1 : 0)) return [violation('retries are bounded', recorded)];
  return isLost && charged <= planned.maxRetries ? [violation('every allowed retry is used', recorded)] : [];
}

/**
 * Checks that each attempt had one trainer. Trainers of two attempts may overlap only when the earlier worker was
 * unreachable.
 */
function judgeOverlaps(jobCase: JobCase, violation: MakeViolation): readonly Violation[] {
  const { evidence, planned, runs } = jobCase;
  const { attempts } = evidence.job;
  const severalTrainers = attempts
    .filter(attempt => runsOf(jobCase, attempt).length > 1)
    .map(({ attempt }) => violation('one trainer per attempt', `attempt ${attempt} had several trainers`));
  const overlaps = runs.flatMap((first, n) =>
    runs
      .slice(n + 1)
      .filter(second => second.startedAt <= first.lastAt)
      .flatMap(second => {
        const outcome = attempts.find(({ attempt_id: id }) => id === first.attempt)?.outcome;
        if (outcome === 'given_up' && !planned.stopsOnLostContact) return [];
        const forMs = Math.round(first.lastAt - second.startedAt);
        const what = `trainers ${first.pid} and ${second.pid} overlapped for ${forMs} ms; the first attempt is ${outcome}`;
        return [violation('trainers of a job do not overlap', what)];
      }),
  );
  return [...severalTrainers, ...overlaps];
}
