// See docs/internals/semantics.md, section 5.
import { expect, test } from 'vitest';
import { JobId } from '../../../../../../protocol/ids.ts';
import type { StatusReportBody } from '../../../../../../protocol/worker-api.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';

const words = ['starting', 'running', 'completed', 'failed', 'cancelled'] as const;
const stop = (code: string) => ({ code, action: 'stop' });

// The state that must not change when a report is refused.
const stateOf = (fleet: Fleet, id: JobId) => ({
  job: fleet.job(id),
  seq: fleet.orchestrator.lifecycle.lastSeq(),
});
type State = ReturnType<typeof stateOf>;

const isFinalWord = (word: StatusReportBody['status']): boolean =>
  word === 'completed' || word === 'failed' || word === 'cancelled';

// A late final report changes one thing: it is stored as the late result of the first attempt.
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

/** Creates a job that was preempted on `former` and now runs on `holder`. */
async function moved(fleet: Fleet): Promise<{ former: FleetWorker; holder: FleetWorker; job: JobId }> {
  const former = await fleet.addIdleWorker();
  const job = await fleet.runJob(former);
  const holder = await fleet.addIdleWorker();
  await former.register();
  await holder.run(job);
  return { former, holder, job };
}

test.each(words)('refuses "%s" of a superseded attempt, and stops its trainer', async word => {
  const fleet = await openFleet();
  const { former, holder, job } = await moved(fleet);
  const before = stateOf(fleet, job);
  expect(refusalOf(await former.report(job, word))).toEqual(stop('attempt_superseded'));
  expect(stateOf(fleet, job)).toEqual(isFinalWord(word) ? withLateResult(before, word) : before);
  expect(before.job).toMatchObject({ status: 'running', worker_id: holder.id });
});

test('treats an attempt as superseded when the newer one is only offered', async () => {
  const fleet = await openFleet();
  const former = await fleet.addIdleWorker();
  const job = await fleet.runJob(former);
  await fleet.addIdleWorker();
  await former.register();
  expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2 });
  expect(refusalOf(await former.report(job, 'completed'))).toEqual(stop('attempt_superseded'));
});

test.each(words)('refuses "%s" of an older attempt on the same worker', async word => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const { attempt_id: older } = rig.lastOffer();
  await rig.register();
  await rig.run(job);
  expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 2, worker_id: rig.id });
  const before = stateOf(fleet, job);
  expect(refusalOf(await rig.report(job, word, { attempt_id: older }))).toEqual(stop('attempt_superseded'));
  expect(stateOf(fleet, job)).toEqual(isFinalWord(word) ? withLateResult(before, word) : before);
});

test('abandons an older attempt that a registration or heartbeat names, without claiming the offer', async () => {
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

test.each(words)('refuses "%s" of a worker that never had the job', async word => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const otherWorker = await fleet.addIdleWorker();
  const { attempt_id: attemptId } = rig.lastOffer();
  const before = stateOf(fleet, job);
  const outcome = await otherWorker.report(job, word, { attempt_id: attemptId });
  expect(refusalOf(outcome)).toEqual(stop('not_your_job'));
  expect(stateOf(fleet, job)).toEqual(before);
});

type Word = StatusReportBody['status'];

test.each<[ended: Word, word: Word, answer: 'duplicate' | 'final']>([
  ['completed', 'completed', 'duplicate'],
  ['completed', 'failed', 'final'],
  ['completed', 'cancelled', 'final'],
  ['completed', 'running', 'final'],
  ['completed', 'starting', 'final'],
  ['failed', 'failed', 'duplicate'],
  ['failed', 'completed', 'final'],
  ['failed', 'cancelled', 'final'],
  ['failed', 'training', 'final'],
  ['failed', 'starting', 'final'],
  ['cancelled', 'cancelled', 'duplicate'],
  ['cancelled', 'failed', 'duplicate'],
  ['cancelled', 'completed', 'final'],
  ['cancelled', 'running', 'final'],
  ['cancelled', 'starting', 'final'],
])('treats a report after the end as expected (after "%s", "%s" is %s)', async (ended, word, answer) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  if (ended === 'cancelled') await fleet.cancel(job);
  await rig.report(job, ended, { exit_code: 1 });
  const before = stateOf(fleet, job);
  expect(before.job.status).toBe(ended);
  const late = await rig.report(job, word, { exit_code: 7, error: 'late', progress: 99 });
  if (answer === 'duplicate') expect(valueOf(late)).toEqual({ duplicate: true });
  else expect(refusalOf(late)).toEqual(stop('job_final'));
  await fleet.clock.advance(1_000);
  expect(stateOf(fleet, job)).toEqual(before);
});

test('resumes the last attempt of a pending job and returns its retry', async () => {
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

test('changes nothing when a report is posted twice', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit();
  for (const word of ['starting', 'running', 'completed'] as const) {
    await rig.report(jobId, word);
    const before = stateOf(fleet, jobId);
    expect((await rig.report(jobId, word)).ok).toBe(true);
    expect(stateOf(fleet, jobId)).toEqual(before);
  }
});

test('does not set a running job back when its claim is replayed', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const before = stateOf(fleet, job);
  expect((await rig.report(job, 'starting')).ok).toBe(true);
  expect(stateOf(fleet, job)).toEqual(before);
});

test.each(['the report of a job that has moved on', 'the report of a job that is not there'])(
  'dispatches the pending job to a silent worker that returns with %s',
  async what => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.clock.advance(200_000);
    const other = await fleet.addIdleWorker();
    expect(other.lastOffer().job_id).toBe(job);
    const { jobId: waiting } = await fleet.submit();
    expect(fleet.job(waiting).status).toBe('pending');
    const late = await rig.report(what.includes('moved on') ? job : JobId.parse('j_nobody'), 'completed');
    expect(late.ok).toBe(false);
    expect(fleet.job(waiting)).toMatchObject({ status: 'dispatched', worker_id: rig.id });
  },
);
