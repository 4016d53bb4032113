// The heartbeat timeout is 120 s.
import { describe, expect, test } from 'vitest';
import { accept, refuse } from '../../../../../../protocol/problem.ts';
import type { JobPayload } from '../../../../../../main/orchestrator/ports/index.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { ada, bob, type Fleet } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { lastRow } from '../../audit-rows.ts';

const hourMs = 3_600_000;

// State that a submission could change.
const snapshot = (fleet: Fleet) => ({
  events: fleet.events.length,
  rows: fleet.audit().length,
  pending: fleet.store.pendingJobs().map(({ id }) => id),
  live: fleet.store.liveJobs().map(({ id }) => id),
});

describe('submitting with no_wait', () => {
  const noWait = { no_wait: true } as const;

  test('dispatches a no_wait job to an idle worker', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const answer = valueOf(await fleet.trySubmit(noWait));
    expect(answer).toMatchObject({ status: 'running', workerId: rig.id });
    await fleet.clock.settle();
    expect(rig.commandsOf('job_submit')).toHaveLength(1);
  });

  test.each<readonly [string, (fleet: Fleet) => Promise<unknown>]>([
    ['no worker exists', () => Promise.resolve()],
    ['no worker fits', fleet => fleet.addIdleWorker({ agent: { gpus: 0 } })],
    ['every worker is busy', async fleet => fleet.runJob(await fleet.addIdleWorker(), { gpu_count: 1 })],
    [
      'the queue is paused',
      async fleet => {
        await fleet.addIdleWorker();
        await fleet.orchestrator.queue.pause(null, bob);
      },
    ],
    [
      'the concurrency limit is reached',
      async fleet => {
        await fleet.addIdleWorker();
        await fleet.orchestrator.queue.limit({ max_concurrent: 0 }, bob);
      },
    ],
    [
      "the user's limit is reached",
      async fleet => {
        await fleet.runJob(await fleet.addIdleWorker(), { gpu_count: 1 });
        await fleet.addIdleWorker();
        await fleet.orchestrator.queue.limit({ user_max_concurrent: 1 }, bob);
      },
    ],
    [
      'the worker is draining',
      async fleet => {
        await fleet.drain(await fleet.addIdleWorker());
      },
    ],
  ])('rejects a no_wait job and changes nothing while %s', async (_case, prepare) => {
    const fleet = await openFleet();
    await prepare(fleet);
    const before = snapshot(fleet);
    const answer = valueOf(await fleet.trySubmit({ ...noWait, gpu_count: 1 }));
    expect(answer).toEqual({ status: 'rejected', reason: expect.any(String) });
    expect(snapshot(fleet)).toEqual(before);
    // The rejected job must not appear in the queue later either.
    await fleet.orchestrator.queue.resume(ada);
    await fleet.orchestrator.queue.limit({ max_concurrent: null, user_max_concurrent: null }, ada);
    await fleet.addIdleWorker();
    expect(snapshot(fleet).live).toEqual(before.live);
  });

  test('does not let a no_wait job overtake a pending job that fits the worker', async () => {
    const fleet = await openFleet();
    await fleet.orchestrator.queue.pause(null, bob);
    const { jobId: waiting } = await fleet.submit({ priority: 0 });
    const rig = await fleet.addIdleWorker();
    // Both calls share one transaction, and the no_wait job is considered first.
    const [, answer] = await Promise.all([
      fleet.orchestrator.queue.resume(bob),
      fleet.trySubmit({ ...noWait, priority: 50 }),
    ]);
    expect(valueOf(answer).status).toBe('rejected');
    await fleet.clock.settle();
    expect(rig.lastOffer().job_id).toBe(waiting);
  });

  test('lets a no_wait job overtake pending jobs that the idle worker cannot take', async () => {
    const fleet = await openFleet();
    await fleet.submit({ gpu_count: 8, priority: 50 });
    await fleet.submit({ requires_approval: true, priority: 50 });
    await fleet.addIdleWorker();
    expect(valueOf(await fleet.trySubmit(noWait)).status).toBe('running');
  });

  test('rejects a no_wait job when the only worker has just passed the heartbeat timeout', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker();
    // The call runs at the moment of the timeout, before the orchestrator handles the timeout.
    const answer = new Promise<Awaited<ReturnType<Fleet['trySubmit']>>>((resolve, reject) => {
      fleet.clock.after(120_000, () => void fleet.trySubmit(noWait).then(resolve, reject));
    });
    await fleet.clock.advance(120_000);
    expect(valueOf(await answer).status).toBe('rejected');
    expect(snapshot(fleet)).toMatchObject({ pending: [], live: [] });
  });

  test('dispatches only one of several concurrent no_wait jobs to the only worker', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker();
    const answers = await Promise.all([
      fleet.trySubmit(noWait),
      fleet.trySubmit(noWait),
      fleet.trySubmit(noWait),
    ]);
    expect(answers.map(answer => valueOf(answer).status).toSorted()).toEqual([
      'rejected',
      'rejected',
      'running',
    ]);
  });

  test('leaves the idempotency key unused when a no_wait job is rejected', async () => {
    const fleet = await openFleet();
    const key = { key: 'k', fingerprint: 'f' };
    expect(valueOf(await fleet.trySubmit(noWait, ada, key)).status).toBe('rejected');
    await fleet.addIdleWorker();
    const submitted = valueOf(await fleet.trySubmit(noWait, ada, key));
    expect(submitted.status).toBe('running');
    // Repeating the request returns the same job, although no worker is idle.
    expect(valueOf(await fleet.trySubmit(noWait, ada, key))).toEqual({ ...submitted, isRepeat: true });
  });
});

describe('submitting with an idempotency key', () => {
  const key = { key: 'nightly-7', fingerprint: 'f1' };

  test('returns the first job in its current state when the request is repeated', async () => {
    const fleet = await openFleet();
    const first = valueOf(await fleet.trySubmit({}, ada, key));
    if (first.status === 'rejected') throw new Error('rejected');
    expect(first).toMatchObject({ status: 'queued', position: 1 });
    const before = snapshot(fleet);
    expect(valueOf(await fleet.trySubmit({}, ada, key))).toEqual({ ...first, isRepeat: true });
    expect(snapshot(fleet)).toEqual(before);
    const rig = await fleet.addIdleWorker();
    expect(valueOf(await fleet.trySubmit({}, ada, key))).toMatchObject({
      jobId: first.jobId,
      status: 'running',
      workerId: rig.id,
    });
    await rig.run(first.jobId);
    await rig.report(first.jobId, 'completed');
    expect(valueOf(await fleet.trySubmit({}, ada, key))).toMatchObject({
      jobId: first.jobId,
      status: 'completed',
      workerId: null,
    });
  });

  test('creates one job for concurrent requests with the same idempotency key', async () => {
    const fleet = await openFleet();
    const answers = await Promise.all([1, 2, 3].map(() => fleet.trySubmit({}, ada, key)));
    expect(new Set(answers.map(answer => jobIdOf(valueOf(answer)))).size).toBe(1);
    expect(answers.filter(answer => expectAccepted(valueOf(answer)).isRepeat)).toHaveLength(2);
    expect(snapshot(fleet).pending).toHaveLength(1);
  });

  test('refuses a different request with the same idempotency key, and names the first job', async () => {
    const fleet = await openFleet();
    await fleet.trySubmit({}, ada, key);
    const before = snapshot(fleet);
    const answer = await fleet.trySubmit({ priority: 50 }, ada, { ...key, fingerprint: 'f2' });
    expect(refusalOf(answer)).toEqual({ code: 'idempotency_key_reused' });
    expect(answer).toMatchObject({ refusal: { detail: expect.stringContaining(before.pending[0] ?? '-') } });
    expect(snapshot(fleet)).toEqual(before);
  });

  test('keeps the idempotency keys of different users separate', async () => {
    const fleet = await openFleet();
    const jobOfAda = valueOf(await fleet.trySubmit({}, ada, key));
    const jobOfBob = valueOf(await fleet.trySubmit({ priority: 50 }, bob, { ...key, fingerprint: 'f2' }));
    expect(snapshot(fleet).pending).toHaveLength(2);
    expect(valueOf(await fleet.trySubmit({}, ada, key))).toMatchObject({
      ...jobOfAda,
      position: 2,
      isRepeat: true,
    });
    expect(jobOfBob).toMatchObject({ status: 'queued', position: 1 });
  });

  test('keeps an idempotency key for 24 hours, also across a restart', async () => {
    const fleet = await openFleet();
    const first = valueOf(await fleet.trySubmit({}, ada, key));
    await fleet.clock.advance(12 * hourMs);
    await fleet.restart({ crash: true });
    await fleet.clock.advance(12 * hourMs - 1);
    expect(valueOf(await fleet.trySubmit({}, ada, key))).toMatchObject({ jobId: jobIdOf(first) });
    await fleet.clock.advance(1);
    const second = valueOf(await fleet.trySubmit({ priority: 20 }, ada, { ...key, fingerprint: 'f2' }));
    expect(jobIdOf(second)).not.toBe(jobIdOf(first));
    expect(valueOf(await fleet.trySubmit({}, ada, { ...key, fingerprint: 'f2' }))).toMatchObject({
      jobId: jobIdOf(second),
    });
  });

  test.each([
    ['two days ahead', 48 * hourMs],
    ['ten years back', -87_600 * hourMs],
  ])('keeps an idempotency key when the clock jumps %s', async (_case, ms) => {
    const fleet = await openFleet();
    const first = valueOf(await fleet.trySubmit({}, ada, key));
    fleet.clock.shiftWall(ms);
    // A submit with another key makes the store remove expired keys.
    await fleet.trySubmit({}, bob, key);
    expect(valueOf(await fleet.trySubmit({}, ada, key))).toMatchObject({ jobId: jobIdOf(first) });
    await fleet.restart();
    expect(valueOf(await fleet.trySubmit({}, ada, key))).toMatchObject({ jobId: jobIdOf(first) });
  });

  test('returns job_not_found for the idempotency key of a deleted job', async () => {
    const fleet = await openFleet();
    const { jobId } = expectAccepted(valueOf(await fleet.trySubmit({}, ada, key)));
    await fleet.cancel(jobId);
    expect(expectAccepted(valueOf(await fleet.trySubmit({}, ada, key))).jobId).toBe(jobId);
    await fleet.orchestrator.jobs.remove(jobId, ada);
    expect(refusalOf(await fleet.trySubmit({}, ada, key))).toEqual({ code: 'job_not_found' });
    expect(snapshot(fleet).pending).toEqual([]);
  });

  test('returns the job of an idempotency key even when its config file was removed', async () => {
    let payload: JobPayload | null = { config: { lr: 1 }, dataloader: null, files: {} };
    const fleet = await openFleet({
      configs: {
        load: name =>
          Promise.resolve(payload === null ? refuse('config_not_found', `no ${name}`) : accept(payload)),
      },
    });
    const first = valueOf(await fleet.trySubmit({ config_name: 'portrait' }, ada, key));
    payload = null;
    expect(valueOf(await fleet.trySubmit({ config_name: 'portrait' }, ada, key))).toEqual({
      ...first,
      isRepeat: true,
    });
    expect(refusalOf(await fleet.trySubmit({ config_name: 'portrait' }, bob, key)).code).toBe(
      'config_not_found',
    );
  });
});

type Submitted = Extract<Awaited<ReturnType<Fleet['trySubmit']>>, { ok: true }>['value'];
function expectAccepted(answer: Submitted): Exclude<Submitted, { readonly status: 'rejected' }> {
  if (answer.status === 'rejected') throw new Error(`rejected: ${answer.reason}`);
  return answer;
}
const jobIdOf = (answer: Submitted): string => expectAccepted(answer).jobId;

describe('retrying an ended job', () => {
  test.each(['completed', 'failed', 'cancelled'] as const)(
    'creates a new job when a %s job is retried',
    async status => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker();
      const job = await fleet.runJob(rig, { config: { lr: 7 }, priority: 20, max_retries: 1 });
      if (status === 'cancelled') await fleet.cancel(job);
      await rig.report(job, status, { ...(status === 'failed' && { exit_code: 1 }) });
      expect(fleet.job(job).status).toBe(status);
      const { jobId, workerId } = expectAccepted(valueOf(await fleet.orchestrator.jobs.retry(job, bob)));
      await fleet.clock.settle();
      expect(jobId).not.toBe(job);
      expect(workerId).toBe(rig.id);
      expect(fleet.job(jobId)).toMatchObject({
        retry_of: job,
        user: 'bob',
        priority: 20,
        max_attempts: 2,
        attempt: 1,
      });
      expect(rig.lastOffer()).toMatchObject({ job_id: jobId, config: { lr: 7 } });
      expect(lastRow(fleet, 'job.submitted')).toMatchObject({
        actor_id: 'bob',
        target_id: jobId,
        details: { retry_of: job },
      });
      expect(fleet.job(job)).toMatchObject({ status, retry_of: null });
    },
  );

  test('retries a job with its submitted config even when the config file changed', async () => {
    let lr = 1;
    const fleet = await openFleet({
      configs: {
        load: () => Promise.resolve(accept({ config: { lr }, dataloader: { path: `v${lr}` }, files: {} })),
      },
    });
    const { jobId } = await fleet.submit({ config_name: 'portrait' });
    await fleet.cancel(jobId);
    lr = 2;
    const retry = expectAccepted(valueOf(await fleet.orchestrator.jobs.retry(jobId, ada)));
    expect(fleet.store.payload(retry.jobId)).toEqual({
      config: { lr: 1 },
      dataloader: { path: 'v1' },
      files: {},
    });
    expect(fleet.job(retry.jobId).config_name).toBe('portrait');
    expect(fleet.store.payload((await fleet.submit({ config_name: 'portrait' })).jobId)?.config).toEqual({
      lr: 2,
    });
  });

  test('requires approval of a retry when the original job required approval', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker();
    const { jobId } = await fleet.submit({ requires_approval: true });
    await fleet.orchestrator.jobs.reject(jobId, null, bob);
    expect(valueOf(await fleet.orchestrator.jobs.retry(jobId, ada))).toMatchObject({ status: 'blocked' });
  });

  test('refuses to retry a job that has not ended or does not exist', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const { jobId: waiting } = await fleet.submit();
    const before = snapshot(fleet);
    expect(refusalOf(await fleet.orchestrator.jobs.retry(job, ada))).toEqual({ code: 'job_not_final' });
    expect(refusalOf(await fleet.orchestrator.jobs.retry(waiting, ada))).toEqual({ code: 'job_not_final' });
    await fleet.cancel(waiting);
    await fleet.orchestrator.jobs.remove(waiting, ada);
    expect(refusalOf(await fleet.orchestrator.jobs.retry(waiting, ada))).toEqual({ code: 'job_not_found' });
    expect(snapshot(fleet).live).toEqual(before.live);
  });
});
