// See docs/internals/semantics.md, section 5.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import type { Fleet } from '../../../../../support/fleet.ts';

const takeoverMs = 160_000;
// The clock of a test fleet starts at 12:00.
const takeoverTime = '2026-01-01T12:02:40.000Z';

/** Creates a job that a second worker took over from a silent worker and now runs. */
async function openTakenOver(protocol: 1 | 2 = 2) {
  const fleet = await openFleet();
  const former = await fleet.addIdleWorker({ agent: { protocol } });
  const job = await fleet.runJob(former);
  await fleet.clock.advance(takeoverMs);
  const holder = await fleet.addIdleWorker();
  await holder.run(job);
  return { fleet, former, holder, job };
}

const auditRows = (fleet: Fleet, type: string) =>
  fleet
    .audit()
    .filter(row => row.type === type)
    .map(({ actor_id: actor, target_id: target, details }) => ({
      actor,
      target,
      details: JSON.parse(details) as unknown,
    }));

describe('late result of a superseded attempt', () => {
  test.each([
    [1, 'completed', 0],
    [2, 'completed', 0],
    [2, 'failed', 1],
    [2, 'cancelled', null],
  ] as const)('stores the late result with its attempt (protocol %i): %s', async (protocol, status, code) => {
    const { fleet, former, holder, job } = await openTakenOver(protocol);
    const outcome = await former.report(job, status, { exit_code: code });
    expect(refusalOf(outcome)).toEqual({ code: 'attempt_superseded', action: 'stop' });
    expect(fleet.job(job)).toMatchObject({ status: 'running', worker_id: holder.id, attempt: 2 });
    expect(fleet.job(job).attempts).toMatchObject([
      { outcome: 'given_up', late_result: { at: takeoverTime, status, exit_code: code } },
      { late_result: null },
    ]);
    expect(fleet.trail(job).at(-1)).toBe('job.late_result');
    expect(auditRows(fleet, 'job.late_result')).toEqual([
      {
        actor: former.id,
        target: job,
        details: {
          worker_id: holder.id,
          attempt: 2,
          cause: null,
          late_attempt: 1,
          status,
          exit_code: code,
        },
      },
    ]);
  });

  test('stores only the first of several late results', async () => {
    const { fleet, former, job } = await openTakenOver();
    await former.report(job, 'completed', { exit_code: 0 });
    const seq = fleet.orchestrator.lifecycle.lastSeq();
    for (const status of ['completed', 'failed'] as const) await former.report(job, status, { exit_code: 9 });
    expect(fleet.orchestrator.lifecycle.lastSeq()).toBe(seq);
    expect(fleet.job(job).attempts[0]?.late_result).toEqual({
      at: takeoverTime,
      status: 'completed',
      exit_code: 0,
    });
  });

  test('stores a late result after the job has ended on another worker', async () => {
    const { fleet, former, holder, job } = await openTakenOver();
    await holder.report(job, 'completed');
    expect(refusalOf(await former.report(job, 'completed')).code).toBe('attempt_superseded');
    expect(fleet.job(job).attempts[0]?.late_result).toMatchObject({ status: 'completed' });
    expect(fleet.job(job).status).toBe('completed');
  });

  test('keeps a late result after a restart', async () => {
    const { fleet, former, job } = await openTakenOver();
    await former.report(job, 'completed', { exit_code: 0 });
    await fleet.restart();
    expect(fleet.job(job).attempts[0]?.late_result).toEqual({
      at: takeoverTime,
      status: 'completed',
      exit_code: 0,
    });
  });

  test('stores the late result with the attempt that the report names when one worker had both attempts', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const { attempt_id: older } = rig.lastOffer();
    await rig.register();
    await rig.run(job);
    await rig.report(job, 'completed', { attempt_id: older });
    expect(fleet.job(job).attempts).toMatchObject([
      { late_result: { status: 'completed' } },
      { late_result: null, outcome: null },
    ]);
  });

  test.each(['starting', 'running'] as const)('stores no late result for the report “%s”', async status => {
    const { fleet, former, job } = await openTakenOver();
    const seq = fleet.orchestrator.lifecycle.lastSeq();
    await fleet.clock.advance(1);
    expect(refusalOf(await former.report(job, status)).code).toBe('attempt_superseded');
    expect(fleet.job(job).attempts[0]?.late_result).toBeNull();
    // The report only counts as contact.
    expect(fleet.events.slice(seq).map(event => 'type' in event && event.type)).toEqual(['worker.back']);
  });
});

describe('report by a worker that never had the job', () => {
  test.each(['starting', 'completed'] as const)(
    'audits the refused report “%s” and changes nothing',
    async status => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker();
      const job = await fleet.runJob(rig);
      const otherWorker = await fleet.addIdleWorker();
      const before = fleet.job(job);
      const seq = fleet.orchestrator.lifecycle.lastSeq();
      expect(refusalOf(await otherWorker.report(job, status)).code).toBe('not_your_job');
      expect([fleet.job(job), fleet.orchestrator.lifecycle.lastSeq()]).toEqual([before, seq]);
      expect(auditRows(fleet, 'job.report_refused')).toEqual([
        { actor: otherWorker.id, target: job, details: { status, code: 'not_your_job' } },
      ]);
    },
  );

  test('stores no late result for an attempt that does not exist', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const outcome = await rig.report(job, 'completed', { attempt_id: 'a_999' });
    expect(refusalOf(outcome).code).toBe('attempt_superseded');
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempts: [{ late_result: null }] });
    expect(auditRows(fleet, 'job.report_refused')).toMatchObject([
      { actor: rig.id, details: { status: 'completed', code: 'attempt_superseded' } },
    ]);
  });
});

describe('report of the last attempt while the job is pending again', () => {
  const openWaiting = async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 1 });
    await fleet.clock.advance(takeoverMs);
    expect(fleet.job(job).status).toBe('pending');
    return { fleet, rig, job };
  };

  test.each([
    ['completed', 'completed', null],
    ['failed', 'failed', 'trainer_exit'],
  ] as const)('ends the pending job when its last worker reports “%s”', async (reported, status, cause) => {
    const { fleet, rig, job } = await openWaiting();
    expect(valueOf(await rig.report(job, reported, { exit_code: 3 }))).toEqual({ duplicate: false });
    expect(fleet.job(job)).toMatchObject({ status, cause, attempt: 1 });
    expect(fleet.job(job).attempts).toMatchObject([{ outcome: status, exit_code: 3 }]);
    await fleet.addIdleWorker();
    expect(fleet.job(job).attempt).toBe(1);
  });

  test('charges one retry, not two, when the last worker of a pending job reports “cancelled”', async () => {
    const { fleet, rig, job } = await openWaiting();
    await rig.stream.drop();
    await rig.report(job, 'cancelled');
    expect(fleet.store.job(job)).toMatchObject({ status: 'pending', retriesUsed: 1 });
    expect(fleet.job(job).attempts).toMatchObject([{ outcome: 'requeued', cause: 'preempted' }]);
    const seq = fleet.orchestrator.lifecycle.lastSeq();
    expect(valueOf(await rig.report(job, 'cancelled'))).toEqual({ duplicate: true });
    expect(fleet.orchestrator.lifecycle.lastSeq()).toBe(seq);
  });

  test.each(['completed', 'failed'] as const)(
    'ends the pending job when its last worker reports “%s”, even if that worker has another job',
    async status => {
      const { fleet, rig, job } = await openWaiting();
      const { jobId: urgent } = await fleet.submit({ priority: 50 });
      await rig.connect();
      expect(rig.lastOffer().job_id).toBe(urgent);
      const { attempt_id: urgentAttempt } = rig.lastOffer();
      await rig.report(urgent, 'starting', { attempt_id: urgentAttempt });
      expect((await rig.report(job, status, { exit_code: 1 })).ok).toBe(true);
      expect(fleet.job(job)).toMatchObject({ status, attempt: 1 });
      expect(fleet.job(urgent)).toMatchObject({ status: 'starting', worker_id: rig.id });
      expect(rig.view()).toMatchObject({ status: 'busy', current_job_id: urgent });
    },
  );

  test('refuses to resume the pending job while its worker has another job', async () => {
    const { fleet, rig, job } = await openWaiting();
    const { jobId: urgent } = await fleet.submit({ priority: 50 });
    await rig.connect();
    for (const status of ['starting', 'running'] as const)
      expect(refusalOf(await rig.report(job, status)).code).toBe('attempt_superseded');
    expect(fleet.job(urgent).status).toBe('dispatched');
    expect(fleet.job(job).status).toBe('pending');
  });
});
