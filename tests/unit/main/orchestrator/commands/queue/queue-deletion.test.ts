// The heartbeat timeout is 120 s.
import { describe, expect, test } from 'vitest';
import { everyJob } from '../../../../../support/every-job.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { bob, type Fleet } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { lastRow } from '../../audit-rows.ts';

const dayMs = 86_400_000;

const jobIds = (fleet: Fleet) =>
  fleet.store.jobs({ ...everyJob, limit: 1_000, offset: 0 }).map(({ id }) => id);

// Opens a fleet with a completed job.
async function openEnded() {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const { attempt_id: attempt } = rig.lastOffer();
  await rig.report(job, 'completed');
  return { fleet, rig, job, attempt };
}

describe('deleting an ended job', () => {
  test('removes a job and its data, and audits who deleted the job', async () => {
    const { fleet, rig, job } = await openEnded();
    expect(valueOf(await fleet.orchestrator.jobs.remove(job, bob))).toBe(job);
    await fleet.clock.settle();
    expect(refusalOf(fleet.orchestrator.jobs.get(job))).toEqual({ code: 'job_not_found' });
    expect(refusalOf(fleet.orchestrator.queue.position(job))).toEqual({ code: 'job_not_found' });
    expect(fleet.store.attempts(job)).toEqual([]);
    expect(fleet.store.payload(job)).toBe(null);
    expect(fleet.events.at(-1)).toMatchObject({ type: 'job.deleted', job_id: job, job: null });
    expect(lastRow(fleet)).toMatchObject({
      type: 'job.deleted',
      actor_id: 'bob',
      address: '10.0.0.2',
      target_id: job,
      details: { config_name: 'inline', worker_id: rig.id },
    });
    expect(fleet.audit().filter(({ target_id }) => target_id === job)).toHaveLength(6);
    await fleet.restart({ crash: true });
    expect(jobIds(fleet)).toEqual([]);
  });

  test.each(['completed', 'failed', 'running', 'starting'] as const)(
    'returns job_not_found when a worker reports "%s" about a deleted job',
    async status => {
      const { fleet, rig, job, attempt } = await openEnded();
      await fleet.orchestrator.jobs.remove(job, bob);
      const before = fleet.events.length;
      const rows = fleet.audit().length;
      const outcome = await rig.report(job, status, { attempt_id: attempt });
      expect(refusalOf(outcome)).toEqual({ code: 'job_not_found', action: 'stop' });
      expect(fleet.events).toHaveLength(before);
      expect(fleet.audit().length).toBe(rows);
      expect(jobIds(fleet)).toEqual([]);
    },
  );

  test('tells a worker to abandon a deleted job that the worker still runs', async () => {
    const { fleet, rig, job } = await openEnded();
    await fleet.orchestrator.jobs.remove(job, bob);
    expect(await rig.register({ currentJobId: job })).toMatchObject({ resume_job: null, abandon_job: job });
    await rig.openStream();
    const { jobId: next } = await fleet.submit();
    await rig.beat(job);
    expect(jobIds(fleet)).toEqual([next]);
  });

  test('returns job_not_found when a job is deleted twice', async () => {
    const { fleet, job } = await openEnded();
    await fleet.orchestrator.jobs.remove(job, bob);
    const before = fleet.audit().length;
    expect(refusalOf(await fleet.orchestrator.jobs.remove(job, bob))).toEqual({ code: 'job_not_found' });
    expect(fleet.audit().length).toBe(before);
  });

  test('keeps the submission order of later jobs after the newest job is deleted', async () => {
    const { fleet, job } = await openEnded();
    await fleet.orchestrator.jobs.remove(job, bob);
    const { jobId: first } = await fleet.submit({ gpu_count: 8 });
    const { jobId: second } = await fleet.submit({ gpu_count: 8 });
    expect(jobIds(fleet)).toEqual([second, first]);
    expect([first, second].map(id => fleet.job(id).position)).toEqual([1, 2]);
  });
});

test.each(['pending', 'blocked', 'dispatched', 'running', 'recovering', 'cancelling'] as const)(
  'refuses to delete a %s job',
  async status => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const request = status === 'pending' ? { gpu_count: 8 } : { requires_approval: status === 'blocked' };
    const { jobId } = await fleet.submit(request);
    if (['running', 'recovering', 'cancelling'].includes(status)) await rig.run(jobId);
    if (status === 'recovering') await rig.disconnect();
    if (status === 'cancelling') await fleet.cancel(jobId);
    const before = fleet.job(jobId);
    expect(before.status).toBe(status);
    expect(refusalOf(await fleet.orchestrator.jobs.remove(jobId, bob))).toEqual({ code: 'job_not_final' });
    expect(await fleet.orchestrator.queue.cleanUp(0, bob)).toBe(0);
    expect(fleet.job(jobId)).toEqual(before);
  },
);

describe('cleaning up ended jobs', () => {
  test('deletes only jobs that ended at least the given number of days ago', async () => {
    const fleet = await openFleet();
    const endJob = async () => {
      const { jobId } = await fleet.submit({ gpu_count: 8 });
      await fleet.cancel(jobId);
      return jobId;
    };
    const old = await endJob();
    await fleet.clock.pause(dayMs);
    const young = await endJob();
    const { jobId: waiting } = await fleet.submit({ gpu_count: 8 });
    await fleet.clock.pause(dayMs + 1);
    expect(await fleet.orchestrator.queue.cleanUp(2, bob)).toBe(1);
    await fleet.clock.settle();
    expect(jobIds(fleet)).toEqual([waiting, young]);
    expect(fleet.trail(old)).toEqual(['job.submitted', 'job.cancelled']);
    expect(fleet.events.at(-1)).toMatchObject({ kind: 'queue', type: 'queue.cleaned' });
    expect(lastRow(fleet)).toMatchObject({
      type: 'queue.cleaned',
      actor_id: 'bob',
      target_id: 'queue',
      details: { days: 2, deleted: 1 },
    });
    const before = fleet.events.length;
    expect(await fleet.orchestrator.queue.cleanUp(2, bob)).toBe(0);
    expect(fleet.events).toHaveLength(before);
  });

  test('deletes many jobs in several transactions, each with an event and an audit row', async () => {
    const fleet = await openFleet();
    const submissions = await Promise.all(Array.from({ length: 450 }, () => fleet.submit({ gpu_count: 8 })));
    await Promise.all(submissions.map(({ jobId }) => fleet.cancel(jobId)));
    await fleet.clock.advance(1);
    expect(await fleet.orchestrator.queue.cleanUp(0, bob)).toBe(450);
    await fleet.clock.settle();
    const rows = fleet.audit().filter(({ type }) => type === 'queue.cleaned');
    expect(rows.map(({ details }) => details)).toEqual(
      [200, 200, 50].map(deleted => JSON.stringify({ days: 0, deleted })),
    );
    expect(fleet.events.filter(event => event.kind === 'queue')).toHaveLength(3);
    expect(jobIds(fleet)).toEqual([]);
  });
});
