/** Reports by workers that no longer hold the job, and repeated reports: docs/internals/semantics.md, section 5. */
import { expect, test } from 'vitest';
import { JobId } from '../../../../../../protocol/ids.ts';
import type { StatusReportBody } from '../../../../../../protocol/worker-api.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';

const words = ['starting', 'running', 'completed', 'failed', 'cancelled'] as const;
const stop = (code: string) => ({ code, action: 'stop' });

/** What must not change when a report is refused. */
const stateOf = (fleet: Fleet, id: JobId) => ({
  job: fleet.job(id),
  seq: fleet.orchestrator.lifecycle.lastSeq(),
});
type State = ReturnType<typeof stateOf>;

const isFinalWord = (word: StatusReportBody['status']): boolean =>
  word === 'completed' || word === 'failed' || word === 'cancelled';

/** The same, with the result of its first attempt kept beside it: the one thing that an end leaves which comes too late. */
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

/** A job that ran on `former`, was preempted there, and runs on `holder` now. */
async function moved(fleet: Fleet): Promise<{ former: FleetWorker; holder: FleetWorker; job: JobId }> {
  const former = await fleet.addIdleWorker();
  const job = await fleet.runJob(former);
  const holder = await fleet.addIdleWorker();
  await former.register();
  await holder.run(job);
  return { former, holder, job };
}

test.each(words)(
  '“%s” of a superseded attempt changes nothing of its job, and stops its trainer',
  async word => {
    const fleet = await openFleet();
    const { former, holder, job } = await moved(fleet);
    const before = stateOf(fleet, job);
    expect(refusalOf(await former.report(job, word))).toEqual(stop('attempt_superseded'));
    expect(stateOf(fleet, job)).toEqual(isFinalWord(word) ? withLateResult(before, word) : before);
    expect(before.job).toMatchObject({ status: 'running', worker_id: holder.id });
  },
);

test('a superseded attempt stays so when the newer one is only offered', async () => {
  const fleet = await openFleet();
  const former = await fleet.addIdleWorker();
  const job = await fleet.runJob(former);
  await fleet.addIdleWorker();
  await former.register();
  expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2 });
  expect(refusalOf(await former.report(job, 'completed'))).toEqual(stop('attempt_superseded'));
});

test.each(words)('“%s” of an older attempt on the same worker is superseded as well', async word => {
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

test('an older attempt that is named by a registration or a beat is to be stopped, and is no claim of the newer', async () => {
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

test.each(words)('“%s” of a worker that never had the job is refused', async word => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const stranger = await fleet.addIdleWorker();
  const { attempt_id: attemptId } = rig.lastOffer();
  const before = stateOf(fleet, job);
  const outcome = await stranger.report(job, word, { attempt_id: attemptId });
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
])('after “%s”, “%s” is %s', async (ended, word, answer) => {
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

test('the last attempt of a job that waits again may go on with it, and gives the retry back', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig, { max_retries: 1 });
  await fleet.clock.advance(160_000);
  expect(fleet.job(job)).toMatchObject({ status: 'pending', attempt: 1 });
  expect(valueOf(await rig.report(job, 'running'))).toEqual({ duplicate: false });
  expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1, worker_id: rig.id });
  // The budget of one is whole again: a second loss is not the end.
  await fleet.clock.advance(160_000);
  expect(fleet.job(job).status).toBe('pending');
});

test('a completion that comes when the job already waits again is accepted', async () => {
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

test('every report posted twice: the second changes nothing', async () => {
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

test('a claim that is replayed after the job runs does not set it back', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const before = stateOf(fleet, job);
  expect((await rig.report(job, 'starting')).ok).toBe(true);
  expect(stateOf(fleet, job)).toEqual(before);
});

test.each(['the report of a job that has moved on', 'the report of a job that is not there'])(
  'a silent worker is back with %s, and gets the job that waits',
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
