// See docs/internals/semantics.md, section 5. Takeover follows after 160 s of silence.
import { expect, test } from 'vitest';
import { JobId } from '../../../../../../protocol/ids.ts';
import type { StatusReportBody } from '../../../../../../protocol/worker-api.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';

const reportedStatuses = ['starting', 'running', 'completed', 'failed', 'cancelled'] as const;
const stopRefusal = (code: string) => ({ code, action: 'stop' });

// The state that must not change when a report is refused.
const stateOf = (fleet: Fleet, id: JobId) => ({
  job: fleet.job(id),
  seq: fleet.orchestrator.lifecycle.lastSeq(),
});
type State = ReturnType<typeof stateOf>;

type ReportedStatus = StatusReportBody['status'];
const isFinal = (status: ReportedStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

// Returns the state after a late final report, which only adds the late result of the first attempt.
const withLateResult = ({ job, seq }: State, status: string): State => ({
  seq: seq + 1,
  job: {
    ...job,
    attempts: job.attempts.map((attempt, index) =>
      index === 0
        ? { ...attempt, late_result: { at: '2026-01-01T12:00:00.000Z', status, exit_code: null } }
        : attempt,
    ),
  },
});

/** Creates a job that `holder` now runs, because `former` registered without the job. */
async function runOnSecondWorker(
  fleet: Fleet,
): Promise<{ former: FleetWorker; holder: FleetWorker; job: JobId }> {
  const former = await fleet.addIdleWorker();
  const job = await fleet.runJob(former);
  const holder = await fleet.addIdleWorker();
  await former.register();
  await holder.run(job);
  return { former, holder, job };
}

test.each(reportedStatuses)(
  'refuses the report "%s" of a superseded attempt, and stops its trainer',
  async status => {
    const fleet = await openFleet();
    const { former, holder, job } = await runOnSecondWorker(fleet);
    const before = stateOf(fleet, job);
    expect(refusalOf(await former.report(job, status))).toEqual(stopRefusal('attempt_superseded'));
    expect(stateOf(fleet, job)).toEqual(isFinal(status) ? withLateResult(before, status) : before);
    expect(before.job).toMatchObject({ status: 'running', worker_id: holder.id });
  },
);

test('treats an attempt as superseded when the newer attempt is only offered', async () => {
  const fleet = await openFleet();
  const former = await fleet.addIdleWorker();
  const job = await fleet.runJob(former);
  await fleet.addIdleWorker();
  await former.register();
  expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2 });
  expect(refusalOf(await former.report(job, 'completed'))).toEqual(stopRefusal('attempt_superseded'));
});

test.each(reportedStatuses)(
  'refuses the report "%s" of an older attempt on the same worker',
  async status => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const { attempt_id: older } = rig.lastOffer();
    await rig.register();
    await rig.run(job);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 2, worker_id: rig.id });
    const before = stateOf(fleet, job);
    expect(refusalOf(await rig.report(job, status, { attempt_id: older }))).toEqual(
      stopRefusal('attempt_superseded'),
    );
    expect(stateOf(fleet, job)).toEqual(isFinal(status) ? withLateResult(before, status) : before);
  },
);

test('abandons an older attempt that a registration or heartbeat names, and does not claim the offer', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const { attempt_id: older } = rig.lastOffer();
  await rig.register();
  expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: rig.id });
  const reply = await rig.register({ currentJobId: job, currentAttemptId: older });
  expect(reply).toMatchObject({ abandon_job: job, resume_job: null });
  expect(valueOf(await rig.beat(job, { attempt_id: older }))).toMatchObject({ abandon_job: job });
  expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2 });
});

test.each(reportedStatuses)('refuses the report "%s" of a worker that never had the job', async status => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const otherWorker = await fleet.addIdleWorker();
  const { attempt_id: attemptId } = rig.lastOffer();
  const before = stateOf(fleet, job);
  const outcome = await otherWorker.report(job, status, { attempt_id: attemptId });
  expect(refusalOf(outcome)).toEqual(stopRefusal('not_your_job'));
  expect(stateOf(fleet, job)).toEqual(before);
});

test.each<[end: ReportedStatus, late: ReportedStatus, answer: 'duplicate' | 'refused']>([
  ['completed', 'completed', 'duplicate'],
  ['completed', 'failed', 'refused'],
  ['completed', 'cancelled', 'refused'],
  ['completed', 'running', 'refused'],
  ['completed', 'starting', 'refused'],
  ['failed', 'failed', 'duplicate'],
  ['failed', 'completed', 'refused'],
  ['failed', 'cancelled', 'refused'],
  ['failed', 'training', 'refused'],
  ['failed', 'starting', 'refused'],
  ['cancelled', 'cancelled', 'duplicate'],
  ['cancelled', 'failed', 'duplicate'],
  ['cancelled', 'completed', 'refused'],
  ['cancelled', 'running', 'refused'],
  ['cancelled', 'starting', 'refused'],
])('after a job ended as "%s", treats the report "%s" as %s', async (end, late, answer) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  if (end === 'cancelled') await fleet.cancel(job);
  await rig.report(job, end, { exit_code: 1 });
  const before = stateOf(fleet, job);
  expect(before.job.status).toBe(end);
  const outcome = await rig.report(job, late, { exit_code: 7, error: 'late', progress: 99 });
  if (answer === 'duplicate') expect(valueOf(outcome)).toEqual({ duplicate: true });
  else expect(refusalOf(outcome)).toEqual(stopRefusal('job_final'));
  await fleet.clock.advance(1_000);
  expect(stateOf(fleet, job)).toEqual(before);
});

test('resumes the last attempt of a pending job when its worker reports, and refunds the retry', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig, { max_retries: 1 });
  await fleet.clock.advance(160_000);
  expect(fleet.job(job)).toMatchObject({ status: 'pending', attempt: 1 });
  expect(valueOf(await rig.report(job, 'running'))).toEqual({ duplicate: false });
  expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1, worker_id: rig.id });
  // The retry budget is full again: a second loss does not fail the job.
  await fleet.clock.advance(160_000);
  expect(fleet.job(job).status).toBe('pending');
});

test('accepts the completion of the last attempt while the job is pending again', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await fleet.clock.advance(160_000);
  expect(fleet.job(job).status).toBe('pending');
  expect(valueOf(await rig.report(job, 'completed', { exit_code: 0 }))).toEqual({ duplicate: false });
  expect(fleet.job(job)).toMatchObject({
    status: 'completed',
    cause: null,
    attempts: [{ outcome: 'completed' }],
  });
});

test('changes nothing when a worker repeats a status report', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit();
  for (const status of ['starting', 'running', 'completed'] as const) {
    await rig.report(jobId, status);
    const before = stateOf(fleet, jobId);
    expect((await rig.report(jobId, status)).ok).toBe(true);
    expect(stateOf(fleet, jobId)).toEqual(before);
  }
});

test('keeps a running job running when its worker repeats the report “starting”', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const before = stateOf(fleet, job);
  expect((await rig.report(job, 'starting')).ok).toBe(true);
  expect(stateOf(fleet, job)).toEqual(before);
});

test.each(['a job that another worker has now', 'an unknown job'])(
  'dispatches a pending job to a silent worker that returns with a report about %s',
  async reportedJob => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.clock.advance(200_000);
    const otherRig = await fleet.addIdleWorker();
    expect(otherRig.lastOffer().job_id).toBe(job);
    const { jobId: waiting } = await fleet.submit();
    expect(fleet.job(waiting).status).toBe('pending');
    const reportedId = reportedJob === 'an unknown job' ? JobId.parse('j_nobody') : job;
    const outcome = await rig.report(reportedId, 'completed');
    expect(outcome.ok).toBe(false);
    expect(fleet.job(waiting)).toMatchObject({ status: 'dispatched', worker_id: rig.id });
  },
);
