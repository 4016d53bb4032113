// See docs/internals/semantics.md, section 7.
import { describe, expect, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import { SubmitRequest } from '../../../../../../protocol/queue-api.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';
import { ada, type Fleet, hashOf } from '../../../../../support/fleet.ts';

const openLocalWorker = async (fleet: Fleet, host = 'workstation') => {
  const issued = await fleet.orchestrator.workers.local(host);
  await fleet.clock.settle();
  return issued;
};

const lastAuditRow = (fleet: Fleet, type: string) => fleet.audit().findLast(row => row.type === type);

describe('the local worker', () => {
  test('creates the local worker once, and returns the same worker later', async () => {
    const fleet = await openFleet({ runsLocally: true });
    const first = await openLocalWorker(fleet);
    expect(valueOf(fleet.orchestrator.workers.get(first.workerId))).toMatchObject({
      name: 'workstation',
      local: true,
      worker_type: 'persistent',
      labels: {},
      status: 'connecting',
    });
    expect(fleet.trail(first.workerId)).toEqual(['worker.created']);
    expect(lastAuditRow(fleet, 'worker.created')).toMatchObject({ actor_type: 'system', actor_id: null });
    expect(JSON.parse(lastAuditRow(fleet, 'worker.created')?.details ?? '')).toMatchObject({ local: true });

    const second = await openLocalWorker(fleet);
    expect(second).toMatchObject({ workerId: first.workerId, name: 'workstation', persistent: true });
    expect(fleet.orchestrator.workers.list(undefined)).toHaveLength(1);
  });

  test('issues a new token for the local worker on each start, and invalidates the previous token', async () => {
    const fleet = await openFleet({ runsLocally: true });
    const first = await openLocalWorker(fleet);
    await fleet.restart();
    const second = await openLocalWorker(fleet);
    const workerOf = (token: string) => fleet.orchestrator.workers.byTokenHash(hashOf(token));
    expect([workerOf(first.token), workerOf(second.token)]).toEqual([null, first.workerId]);
    expect(fleet.trail(first.workerId)).toEqual(['worker.created', 'worker.token_rotated']);
    expect(lastAuditRow(fleet, 'worker.token_rotated')).toMatchObject({ actor_type: 'system' });
  });

  test('keeps the name and the drain that users set on the local worker', async () => {
    const fleet = await openFleet({ runsLocally: true });
    const { workerId } = await openLocalWorker(fleet);
    await fleet.orchestrator.workers.update(workerId, { name: 'big one' }, ada);
    await fleet.orchestrator.workers.drain(workerId, { reason: null, deadlineMs: null }, ada);
    await fleet.restart();
    expect(await openLocalWorker(fleet, 'renamed-host')).toMatchObject({ workerId, name: 'big one' });
    expect(valueOf(fleet.orchestrator.workers.get(workerId)).drain).not.toBeNull();
  });

  test('picks an unused name for the local worker', async () => {
    const fleet = await openFleet({ runsLocally: true });
    for (const name of ['workstation', 'workstation-local']) await fleet.addWorker({ name });
    const { workerId, name } = await openLocalWorker(fleet);
    expect(name).toBe('workstation-local-2');
    expect(valueOf(await fleet.orchestrator.workers.remove(workerId, ada))).toEqual({ workerId });
    // A deleted local worker is created again and never reuses the row of another worker.
    const next = await openLocalWorker(fleet);
    expect(next.workerId).not.toBe(workerId);
    expect(fleet.orchestrator.workers.list(undefined).filter(({ local }) => local)).toMatchObject([
      { id: next.workerId },
    ]);
  });
});

describe('jobs with target local', () => {
  const request = SubmitRequest.parse({ config: {}, target: 'local' });

  test('refuses a local job while the local worker is switched off, even if its record exists', async () => {
    const fleet = await openFleet();
    const refusal = {
      ok: false,
      refusal: { code: 'target_unavailable', detail: expect.stringContaining('--local-worker') },
    };
    expect(await fleet.orchestrator.jobs.submit(request, ada)).toEqual(refusal);
    await openLocalWorker(fleet);
    expect(await fleet.orchestrator.jobs.submit(request, ada)).toEqual(refusal);
    expect(fleet.audit().filter(({ type }) => type === 'job.submitted')).toEqual([]);
  });

  test('accepts a local job before the local worker first connects', async () => {
    const fleet = await openFleet({ runsLocally: true });
    expect(valueOf(await fleet.orchestrator.jobs.submit(request, ada))).toMatchObject({ status: 'queued' });
  });

  test('explains why a local job still waits when the local worker is switched off', async () => {
    const fleet = await openFleet({ runsLocally: true });
    const key = { key: 'k-1', fingerprint: 'f' };
    const { jobId } = valueOf(await fleet.orchestrator.jobs.submit(request, ada, key)) as {
      readonly jobId: JobId;
    };
    expect(fleet.job(jobId).reason).not.toContain('--local-worker');
    await fleet.restart({ runsLocally: false });
    expect(fleet.job(jobId)).toMatchObject({
      status: 'pending',
      reason: expect.stringContaining('with --local-worker'),
    });
    expect(valueOf(await fleet.orchestrator.jobs.submit(request, ada, key))).toMatchObject({ jobId });
    await fleet.cancel(jobId);
    expect(await fleet.orchestrator.jobs.retry(jobId, ada)).toMatchObject({
      ok: false,
      refusal: { code: 'target_unavailable' },
    });
  });

  test('accepts and refuses local jobs as the local worker is switched on and off', async () => {
    const fleet = await openFleet();
    fleet.orchestrator.lifecycle.runLocally(true);
    const { jobId } = valueOf(await fleet.orchestrator.jobs.submit(request, ada)) as {
      readonly jobId: JobId;
    };
    expect(fleet.job(jobId).reason).not.toContain('--local-worker');
    fleet.orchestrator.lifecycle.runLocally(false);
    await fleet.clock.settle();
    expect(fleet.job(jobId)).toMatchObject({
      status: 'pending',
      reason: expect.stringContaining('in Settings'),
    });
    expect(await fleet.orchestrator.jobs.submit(request, ada)).toMatchObject({ ok: false });
    expect(await fleet.orchestrator.jobs.dryRun(request, ada)).toMatchObject({ ok: false });
  });
});
