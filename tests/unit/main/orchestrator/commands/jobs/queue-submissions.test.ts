/** Submitting jobs: immediate dispatch or none, one job per key, and resubmitting ended jobs. T = 120 s. */
import { describe, expect, test } from 'vitest';
import { accept, refuse } from '../../../../../../protocol/problem.ts';
import type { JobPayload } from '../../../../../../main/orchestrator/ports/index.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { ada, bob, type Fleet } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { lastRow } from '../../queue-bench.ts';

const hourMs = 3_600_000;

/** Whether anything at all has come of it. */
const traces = (fleet: Fleet) => ({
  events: fleet.events.length,
  rows: fleet.audit().length,
  pending: fleet.store.pendingJobs().map(({ id }) => id),
  live: fleet.store.liveJobs().map(({ id }) => id),
});

describe('a job that is not to wait', () => {
  const now = { no_wait: true } as const;

  test('is given to an idle worker like any other', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const answer = valueOf(await fleet.trySubmit(now));
    expect(answer).toMatchObject({ status: 'running', workerId: rig.id });
    await fleet.clock.settle();
    expect(rig.commandsOf('job_submit')).toHaveLength(1);
  });

  test.each<readonly [string, (fleet: Fleet) => Promise<unknown>]>([
    ['nobody is there', () => Promise.resolve()],
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
      'the limit is reached',
      async fleet => {
        await fleet.addIdleWorker();
        await fleet.orchestrator.queue.limit({ max_concurrent: 0 }, bob);
      },
    ],
    [
      'its user is at the limit',
      async fleet => {
        await fleet.runJob(await fleet.addIdleWorker(), { gpu_count: 1 });
        await fleet.addIdleWorker();
        await fleet.orchestrator.queue.limit({ user_max_concurrent: 1 }, bob);
      },
    ],
    [
      'the worker is drained',
      async fleet => {
        await fleet.drain(await fleet.addIdleWorker());
      },
    ],
  ])('is rejected, without a trace, while %s', async (_why, prepare) => {
    const fleet = await openFleet();
    await prepare(fleet);
    const before = traces(fleet);
    const answer = valueOf(await fleet.trySubmit({ ...now, gpu_count: 1 }));
    expect(answer).toEqual({ status: 'rejected', reason: expect.any(String) });
    expect(traces(fleet)).toEqual(before);
    // Nor is it somewhere in the line, to come up later.
    await fleet.orchestrator.queue.resume(ada);
    await fleet.orchestrator.queue.limit({ max_concurrent: null, user_max_concurrent: null }, ada);
    await fleet.addIdleWorker();
    expect(traces(fleet).live).toEqual(before.live);
  });

  test('passes nobody who waits, and who could have the worker', async () => {
    const fleet = await openFleet();
    await fleet.orchestrator.queue.pause(null, bob);
    const { jobId: waiting } = await fleet.submit({ priority: 0 });
    const rig = await fleet.addIdleWorker();
    // All in one transaction: the queue goes on, and this one is the first that is looked at.
    const [, answer] = await Promise.all([
      fleet.orchestrator.queue.resume(bob),
      fleet.trySubmit({ ...now, priority: 50 }),
    ]);
    expect(valueOf(answer).status).toBe('rejected');
    await fleet.clock.settle();
    expect(rig.lastOffer().job_id).toBe(waiting);
  });

  test('passes those that wait for something else', async () => {
    const fleet = await openFleet();
    await fleet.submit({ gpu_count: 8, priority: 50 });
    await fleet.submit({ requires_approval: true, priority: 50 });
    await fleet.addIdleWorker();
    expect(valueOf(await fleet.trySubmit(now)).status).toBe('running');
  });

  test('is rejected when the one worker has been silent for too long, though nobody has looked yet', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker();
    // In the very moment in which the health loop looks, and before it: its alarm was set later than this.
    const answer = new Promise<Awaited<ReturnType<Fleet['trySubmit']>>>((resolve, reject) => {
      fleet.clock.after(120_000, () => void fleet.trySubmit(now).then(resolve, reject));
    });
    await fleet.clock.advance(120_000);
    expect(valueOf(await answer).status).toBe('rejected');
    expect(traces(fleet)).toMatchObject({ pending: [], live: [] });
  });

  test('of two at once, one gets the one worker', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker();
    const answers = await Promise.all([fleet.trySubmit(now), fleet.trySubmit(now), fleet.trySubmit(now)]);
    expect(answers.map(answer => valueOf(answer).status).toSorted()).toEqual([
      'rejected',
      'rejected',
      'running',
    ]);
  });

  test('leaves its key free when it is rejected', async () => {
    const fleet = await openFleet();
    const key = { key: 'k', fingerprint: 'f' };
    expect(valueOf(await fleet.trySubmit(now, ada, key)).status).toBe('rejected');
    await fleet.addIdleWorker();
    const taken = valueOf(await fleet.trySubmit(now, ada, key));
    expect(taken.status).toBe('running');
    // The same again is the same job, although nobody could take another one.
    expect(valueOf(await fleet.trySubmit(now, ada, key))).toEqual({ ...taken, isRepeat: true });
  });
});

describe('a key', () => {
  const key = { key: 'nightly-7', fingerprint: 'f1' };

  test('makes the same of the same: the first job, as it is by then', async () => {
    const fleet = await openFleet();
    const first = valueOf(await fleet.trySubmit({}, ada, key));
    if (first.status === 'rejected') throw new Error('rejected');
    expect(first).toMatchObject({ status: 'queued', position: 1 });
    const before = traces(fleet);
    expect(valueOf(await fleet.trySubmit({}, ada, key))).toEqual({ ...first, isRepeat: true });
    expect(traces(fleet)).toEqual(before);
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

  test('that comes twice at once makes one job', async () => {
    const fleet = await openFleet();
    const answers = await Promise.all([1, 2, 3].map(() => fleet.trySubmit({}, ada, key)));
    expect(new Set(answers.map(answer => idOf(valueOf(answer)))).size).toBe(1);
    expect(answers.filter(answer => accepted(valueOf(answer)).isRepeat)).toHaveLength(2);
    expect(traces(fleet).pending).toHaveLength(1);
  });

  test('is refused for anything else, and says which job it stands for', async () => {
    const fleet = await openFleet();
    await fleet.trySubmit({}, ada, key);
    const before = traces(fleet);
    const answer = await fleet.trySubmit({ priority: 50 }, ada, { ...key, fingerprint: 'f2' });
    expect(refusalOf(answer)).toEqual({ code: 'idempotency_key_reused' });
    expect(answer).toMatchObject({ refusal: { detail: expect.stringContaining(before.pending[0] ?? '-') } });
    expect(traces(fleet)).toEqual(before);
  });

  test('of one user is not that of another', async () => {
    const fleet = await openFleet();
    const mine = valueOf(await fleet.trySubmit({}, ada, key));
    const other = valueOf(await fleet.trySubmit({ priority: 50 }, bob, { ...key, fingerprint: 'f2' }));
    expect(traces(fleet).pending).toHaveLength(2);
    expect(valueOf(await fleet.trySubmit({}, ada, key))).toMatchObject({
      ...mine,
      position: 2,
      isRepeat: true,
    });
    expect(other).toMatchObject({ status: 'queued', position: 1 });
  });

  test('holds for 24 hours, over a restart, and no longer', async () => {
    const fleet = await openFleet();
    const first = valueOf(await fleet.trySubmit({}, ada, key));
    await fleet.clock.advance(12 * hourMs);
    await fleet.restart({ crash: true });
    await fleet.clock.advance(12 * hourMs - 1);
    expect(valueOf(await fleet.trySubmit({}, ada, key))).toMatchObject({ jobId: idOf(first) });
    await fleet.clock.advance(1);
    const other = valueOf(await fleet.trySubmit({ priority: 20 }, ada, { ...key, fingerprint: 'f2' }));
    expect(idOf(other)).not.toBe(idOf(first));
    expect(valueOf(await fleet.trySubmit({}, ada, { ...key, fingerprint: 'f2' }))).toMatchObject({
      jobId: idOf(other),
    });
  });

  test.each([
    ['two days ahead', 48 * hourMs],
    ['ten years back', -87_600 * hourMs],
  ])('is not forgotten when the clock jumps %s', async (_what, ms) => {
    const fleet = await openFleet();
    const first = valueOf(await fleet.trySubmit({}, ada, key));
    fleet.clock.shiftWall(ms);
    // Another one has the store forget what is too old.
    await fleet.trySubmit({}, bob, key);
    expect(valueOf(await fleet.trySubmit({}, ada, key))).toMatchObject({ jobId: idOf(first) });
    await fleet.restart();
    expect(valueOf(await fleet.trySubmit({}, ada, key))).toMatchObject({ jobId: idOf(first) });
  });

  test('stands for a job that is gone until it is forgotten', async () => {
    const fleet = await openFleet();
    const { jobId } = accepted(valueOf(await fleet.trySubmit({}, ada, key)));
    await fleet.cancel(jobId);
    expect(accepted(valueOf(await fleet.trySubmit({}, ada, key))).jobId).toBe(jobId);
    await fleet.orchestrator.jobs.remove(jobId, ada);
    expect(refusalOf(await fleet.trySubmit({}, ada, key))).toEqual({ code: 'job_not_found' });
    expect(traces(fleet).pending).toEqual([]);
  });

  test('still stands for its job when the config that it was submitted with is gone', async () => {
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
function accepted(answer: Submitted): Exclude<Submitted, { readonly status: 'rejected' }> {
  if (answer.status === 'rejected') throw new Error(`rejected: ${answer.reason}`);
  return answer;
}
const idOf = (answer: Submitted): string => accepted(answer).jobId;

describe('a job that has ended', () => {
  test.each(['completed', 'failed', 'cancelled'] as const)(
    'as %s is tried again as a new one',
    async status => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker();
      const job = await fleet.runJob(rig, { config: { lr: 7 }, priority: 20, max_retries: 1 });
      if (status === 'cancelled') await fleet.cancel(job);
      await rig.report(job, status, { ...(status === 'failed' && { exit_code: 1 }) });
      expect(fleet.job(job).status).toBe(status);
      const { jobId, workerId } = accepted(valueOf(await fleet.orchestrator.jobs.retry(job, bob)));
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

  test('is tried again with the config that it had, whatever has become of the file', async () => {
    let lr = 1;
    const fleet = await openFleet({
      configs: {
        load: () => Promise.resolve(accept({ config: { lr }, dataloader: { path: `v${lr}` }, files: {} })),
      },
    });
    const { jobId } = await fleet.submit({ config_name: 'portrait' });
    await fleet.cancel(jobId);
    lr = 2;
    const again = accepted(valueOf(await fleet.orchestrator.jobs.retry(jobId, ada)));
    expect(fleet.store.payload(again.jobId)).toEqual({
      config: { lr: 1 },
      dataloader: { path: 'v1' },
      files: {},
    });
    expect(fleet.job(again.jobId).config_name).toBe('portrait');
    expect(fleet.store.payload((await fleet.submit({ config_name: 'portrait' })).jobId)?.config).toEqual({
      lr: 2,
    });
  });

  test('needs approval once more when it needed it before', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker();
    const { jobId } = await fleet.submit({ requires_approval: true });
    await fleet.orchestrator.jobs.reject(jobId, null, bob);
    expect(valueOf(await fleet.orchestrator.jobs.retry(jobId, ada))).toMatchObject({ status: 'blocked' });
  });

  test('is not one that lives, or that nobody knows', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const { jobId: waiting } = await fleet.submit();
    const before = traces(fleet);
    expect(refusalOf(await fleet.orchestrator.jobs.retry(job, ada))).toEqual({ code: 'job_not_final' });
    expect(refusalOf(await fleet.orchestrator.jobs.retry(waiting, ada))).toEqual({ code: 'job_not_final' });
    await fleet.cancel(waiting);
    await fleet.orchestrator.jobs.remove(waiting, ada);
    expect(refusalOf(await fleet.orchestrator.jobs.retry(waiting, ada))).toEqual({ code: 'job_not_found' });
    expect(traces(fleet).live).toEqual(before.live);
  });
});
