import { type AttemptEvidence, type JobCase, runsOf, type Violation } from './violation.ts';

/** Checks that the outcomes of a job and its attempts agree with the journals of its trainers. */
export function judgeResults(jobCase: JobCase): readonly Violation[] {
  const { evidence, runs } = jobCase;
  const { job } = evidence;
  const violation = (rule: string, what: string): Violation => ({ rule, what, job: job.id });
  const completed = job.attempts.filter(({ outcome }) => outcome === 'completed');
  const expectedCount = job.status === 'completed' ? 1 : 0;
  const wrongCount =
    completed.length === expectedCount
      ? []
      : [
          violation(
            'one completed attempt per completed job',
            `${completed.length} attempts completed, but the job is ${job.status}`,
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
    ...completed.flatMap(attempt => judgeCompleted(jobCase, attempt, violation)),
    ...judgeFailure(jobCase, violation),
    ...judgeRetries(jobCase, violation),
    ...judgeOverlaps(jobCase, violation),
  ];
}

type CreateViolation = (rule: string, what: string) => Violation;

function judgeCompleted(
  jobCase: JobCase,
  attempt: AttemptEvidence,
  violation: CreateViolation,
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

/** Causes of an attempt's end after which the orchestrator retries the job. */
const lossCauses: ReadonlySet<string | null> = new Set(['worker_lost', 'preempted']);

/** Checks that the plan or a fault of the run explains why a job failed or was cancelled. */
function judgeFailure(jobCase: JobCase, violation: CreateViolation): readonly Violation[] {
  const { evidence, planned, isCancelled, killed } = jobCase;
  const { job } = evidence;
  const last = job.attempts.at(-1);
  const runs = last === undefined ? [] : runsOf(jobCase, last);
  const wrongCause = (reason: string): readonly Violation[] => [
    violation('every end has a true cause', `${job.status} (${job.cause}): ${reason}; ${job.error_message}`),
  ];
  if (job.status === 'cancelled') return isCancelled ? [] : wrongCause('no user cancelled it');
  if (job.status !== 'failed' || lossCauses.has(job.cause)) return [];
  if (job.cause === 'trainer_exit') {
    const codes = runs.map(({ code }) => code);
    const isPlanned = planned.exitCode !== 0 && codes.includes(planned.exitCode);
    if (isPlanned && last?.exit_code === planned.exitCode) return [];
    return wrongCause(
      `its trainers exited with ${JSON.stringify(codes)}, the API reports ${last?.exit_code}, and ${planned.exitCode} was planned`,
    );
  }
  if (job.cause === 'trainer_signal' && runs.some(({ pid }) => killed.has(pid))) return [];
  return wrongCause('the run did not cause this');
}

/** Checks that a job was retried after each lost attempt, but not more often than its `maxRetries`. */
function judgeRetries({ evidence, planned }: JobCase, violation: CreateViolation): readonly Violation[] {
  const { job } = evidence;
  const { maxRetries } = planned;
  const lostAttempts = job.attempts.filter(({ cause }) => lossCauses.has(cause)).length;
  const isLost = job.status === 'failed' && lossCauses.has(job.cause);
  const maxLost = isLost ? maxRetries + 1 : maxRetries;
  const what = `${lostAttempts} attempts were lost, ${maxRetries} retries are allowed`;
  if (lostAttempts > maxLost) return [violation('retries are bounded', what)];
  return isLost && lostAttempts <= maxRetries ? [violation('every allowed retry is used', what)] : [];
}

/**
 * Checks that no attempt had several trainers. Trainers of two attempts may overlap only when the orchestrator gave up the
 * earlier attempt and its job continues without contact.
 */
function judgeOverlaps(jobCase: JobCase, violation: CreateViolation): readonly Violation[] {
  const { evidence, planned, runs } = jobCase;
  const { attempts } = evidence.job;
  const severalTrainers = attempts
    .filter(attempt => runsOf(jobCase, attempt).length > 1)
    .map(({ attempt }) => violation('one trainer per attempt', `attempt ${attempt} had several trainers`));
  const overlaps: Violation[] = [];
  for (const [index, first] of runs.entries()) {
    const outcome = attempts.find(({ attempt_id: id }) => id === first.attempt)?.outcome;
    if (outcome === 'given_up' && !planned.stopsOnLostContact) continue;
    for (const second of runs.slice(index + 1)) {
      if (second.startedAt > first.lastAt) continue;
      const overlapMs = Math.round(first.lastAt - second.startedAt);
      const what = `trainers ${first.pid} and ${second.pid} overlapped for ${overlapMs} ms; the first attempt is ${outcome}`;
      overlaps.push(violation('trainers of a job do not overlap', what));
    }
  }
  return [...severalTrainers, ...overlaps];
}
