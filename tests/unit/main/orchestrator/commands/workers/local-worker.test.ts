/** The orchestrator's own machine as a worker, and jobs that only it may run: docs/internals/semantics.md, section 7. */
import { describe, expect, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import { SubmitRequest } from '../../../../../../protocol/queue-api.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';
import { ada, type Fleet, hashOf } from '../../../../../support/fleet.ts';

const here = async (fleet: Fleet, host = 'workstation') => {
  const issued = await fleet.orchestrator.workers.local(host);
  await fleet.clock.settle();
  return issued;
};

const lastAudit = (fleet: Fleet, type: string) => fleet.audit().findLast(row => row.type === type);

describe('the worker', () => {
  test('is made once, by the orchestrator, and stays', async () => {
    const fleet = await openFleet({ runsLocally: true });
    const first = await here(fleet);
    expect(valueOf(fleet.orchestrator.workers.get(first.workerId))).toMatchObject({
      name: 'workstation',
      local: true,
      worker_type: 'persistent',
      labels: {},
      status: 'connecting',
    });
    expect(fleet.trail(first.workerId)).toEqual(['worker.created']);
    expect(lastAudit(fleet, 'worker.created')).toMatchObject({ actor_type: 'system', actor_id: null });
    expect(JSON.parse(lastAudit(fleet, 'worker.created')?.details ?? '')).toMatchObject({ local: true });

    const second = await here(fleet);
    expect(second).toMatchObject({ workerId: first.workerId, name: 'workstation', persistent: true });
    expect(fleet.orchestrator.workers.list(undefined)).toHaveLength(1);
  });

  test('has a new token each time, and the one before is dead', async () => {
    const fleet = await openFleet({ runsLocally: true });
    const first = await here(fleet);
    await fleet.restart();
    const second = await here(fleet);
    const owner = (token: string) => fleet.orchestrator.workers.byTokenHash(hashOf(token));
    expect([owner(first.token), owner(second.token)]).toEqual([null, first.workerId]);
    expect(fleet.trail(first.workerId)).toEqual(['worker.created', 'worker.token_rotated']);
    expect(lastAudit(fleet, 'worker.token_rotated')).toMatchObject({ actor_type: 'system' });
  });

  test('keeps the name and the drain that people gave it', async () => {
    const fleet = await openFleet({ runsLocally: true });
    const { workerId } = await here(fleet);
    await fleet.orchestrator.workers.update(workerId, { name: 'big one' }, ada);
    await fleet.orchestrator.workers.drain(workerId, { reason: null, deadlineMs: null }, ada);
    await fleet.restart();
    expect(await here(fleet, 'renamed-host')).toMatchObject({ workerId, name: 'big one' });
    expect(valueOf(fleet.orchestrator.workers.get(workerId)).drain).not.toBeNull();
  });

  test('takes no name that another worker has', async () => {
    const fleet = await openFleet({ runsLocally: true });
    for (const name of ['workstation', 'workstation-local']) await fleet.addWorker({ name });
    const { workerId, name } = await here(fleet);
    expect(name).toBe('workstation-local-2');
    expect(valueOf(await fleet.orchestrator.workers.remove(workerId, ada))).toEqual({ workerId });
    // One that was deleted is made anew, and nobody else's row is taken for it.
    const next = await here(fleet);
    expect(next.workerId).not.toBe(workerId);
    expect(fleet.orchestrator.workers.list(undefined).filter(({ local }) => local)).toMatchObject([
      { id: next.workerId },
    ]);
  });
});

describe('a job for this machine alone', () => {
  const wanted = SubmitRequest.parse({ config: {}, target: 'local' });

  test('is refused where no agent is kept, also when one once was', async () => {
    const fleet = await openFleet();
    const refusal = {
      ok: false,
      refusal: { code: 'target_unavailable', detail: expect.stringContaining('--local-worker') },
    };
    expect(await fleet.orchestrator.jobs.submit(wanted, ada)).toEqual(refusal);
    await here(fleet);
    expect(await fleet.orchestrator.jobs.submit(wanted, ada)).toEqual(refusal);
    expect(fleet.audit().filter(({ type }) => type === 'job.submitted')).toEqual([]);
  });

  test('is taken where one is kept, before it was ever there', async () => {
    const fleet = await openFleet({ runsLocally: true });
    expect(valueOf(await fleet.orchestrator.jobs.submit(wanted, ada))).toMatchObject({ status: 'queued' });
  });

  test('that waits since an earlier run says what for; and the same submission is still answered', async () => {
    const fleet = await openFleet({ runsLocally: true });
    const key = { key: 'k-1', fingerprint: 'f' };
    const { jobId } = valueOf(await fleet.orchestrator.jobs.submit(wanted, ada, key)) as {
      readonly jobId: JobId;
    };
    expect(fleet.job(jobId).reason).not.toContain('--local-worker');
    await fleet.restart({ runsLocally: false });
    expect(fleet.job(jobId)).toMatchObject({
      status: 'pending',
      reason: expect.stringContaining('with --local-worker'),
    });
    expect(valueOf(await fleet.orchestrator.jobs.submit(wanted, ada, key))).toMatchObject({ jobId });
    await fleet.cancel(jobId);
    expect(await fleet.orchestrator.jobs.retry(jobId, ada)).toMatchObject({
      ok: false,
      refusal: { code: 'target_unavailable' },
    });
  });

  test('is taken from when one is kept, while the orchestrator runs, and refused from when there is none', async () => {
    const fleet = await openFleet();
    fleet.orchestrator.lifecycle.runLocally(true);
    const { jobId } = valueOf(await fleet.orchestrator.jobs.submit(wanted, ada)) as { readonly jobId: JobId };
    expect(fleet.job(jobId).reason).not.toContain('--local-worker');
    fleet.orchestrator.lifecycle.runLocally(false);
    await fleet.clock.settle();
    expect(fleet.job(jobId)).toMatchObject({
      status: 'pending',
      reason: expect.stringContaining('in Settings'),
    });
    expect(await fleet.orchestrator.jobs.submit(wanted, ada)).toMatchObject({ ok: false });
    expect(await fleet.orchestrator.jobs.dryRun(wanted, ada)).toMatchObject({ ok: false });
  });
});
