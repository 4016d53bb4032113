// See docs/internals/semantics.md, section 6. T, the heartbeat timeout, is 120 s.
import { describe, expect, test } from 'vitest';
import type { Explanation } from '../../../../../protocol/explain.ts';
import type { JobId } from '../../../../../protocol/ids.ts';
import { SubmitRequest } from '../../../../../protocol/queue-api.ts';
import type { Actor } from '../../../../../main/orchestrator/ports/index.ts';
import { valueOf } from '../../../../support/fleet-outcome.ts';
import { openFleet } from '../../../../support/fleet-bench.ts';
import { ada, type Fleet } from '../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../support/fleet-worker.ts';

const explain = (fleet: Fleet, id: JobId): Explanation => valueOf(fleet.orchestrator.jobs.explain(id));
const codesOf = ({ reasons }: Explanation): readonly string[] => reasons.map(({ code }) => code);
const workerCodes = ({ workers }: Explanation, rig: FleetWorker): readonly string[] | undefined =>
  workers.find(({ worker_id: id }) => id === rig.id)?.reasons.map(({ code }) => code);

const ci: Actor = { type: 'admin', id: 'ci', address: null };

async function submitAs(fleet: Fleet, user: Actor, job = {}): Promise<JobId> {
  const submitted = valueOf(
    await fleet.orchestrator.jobs.submit(SubmitRequest.parse({ config: {}, ...job }), user),
  );
  if (submitted.status === 'rejected') throw new Error('the job was rejected');
  await fleet.clock.settle();
  return submitted.jobId;
}

/** Fails three different jobs at their start on the worker. */
async function quarantine(fleet: Fleet, rig: FleetWorker): Promise<void> {
  for (let n = 0; n < 3; n++) {
    const { jobId } = await fleet.submit({ max_retries: 0 });
    await rig.report(jobId, 'starting');
    await rig.report(jobId, 'failed', { cause: 'start_failed' });
  }
}

describe('explaining unmet requirements', () => {
  test('explains that a job for 4 GPUs does not fit a worker with 1 GPU', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { gpus: 1 } });
    const { jobId, workerId } = await fleet.submit({ gpu_count: 4 });
    expect(workerId).toBeNull();
    expect(explain(fleet, jobId)).toMatchObject({
      job_id: jobId,
      status: 'pending',
      summary: 'GPU requirements not met: 0 of 1 worker can take this job: 1 with fewer than 4 GPUs (have 1)',
      unsatisfiable: true,
      position: 1,
      reasons: [],
      workers: [
        {
          worker_id: rig.id,
          name: 'rig-1',
          local: false,
          fits: false,
          reasons: [{ code: 'gpu_count', wanted: '4', there: '1' }],
        },
      ],
      predicted_start: null,
      no_prediction: 'No worker that ever registered could take it',
    });
  });

  const withScript = { config: { '--post_checkpoint_script': 'push.sh' } };

  test('keeps a job with a restricted config key pending until a worker allows the key', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker({ agent: { allowedConfigKeys: ['output_dir'] } });
    const { jobId } = await fleet.submit(withScript);
    expect(explain(fleet, jobId)).toMatchObject({
      summary: 'No idle workers: 0 of 1 worker can take this job: 1 that do not allow post_checkpoint_script',
      unsatisfiable: true,
      workers: [
        { reasons: [{ code: 'config_key', wanted: 'post_checkpoint_script', there: 'not allowed' }] },
      ],
    });
    const rig = await fleet.addIdleWorker({ agent: { allowedConfigKeys: ['post_checkpoint_script'] } });
    expect(fleet.job(jobId).worker_id).toBe(rig.id);
  });

  test.each([1, 2] as const)(
    'allows restricted keys by label for an agent of protocol %i that checks no configs',
    async protocol => {
      const fleet = await openFleet();
      await fleet.addIdleWorker({ agent: { protocol } });
      const { jobId, workerId } = await fleet.submit(withScript);
      expect(workerId).toBeNull();
      const labels = { 'allow-config-scripts': 'output_dir, post-checkpoint-script' };
      const rig = await fleet.addIdleWorker({ labels, agent: { protocol } });
      expect(fleet.job(jobId).worker_id).toBe(rig.id);
    },
  );

  test('ignores the label for restricted keys on a worker that checks configs itself', async () => {
    const fleet = await openFleet();
    const labels = { 'allow-config-scripts': 'post_checkpoint_script' };
    await fleet.addIdleWorker({ labels, agent: { allowedConfigKeys: [] } });
    expect((await fleet.submit(withScript)).workerId).toBeNull();
  });

  test('dispatches a job for a100* to a worker with a100-80gb, and names the labels that do not match', async () => {
    const fleet = await openFleet();
    const fits = await fleet.addIdleWorker({ labels: { gpu_type: 'a100-80gb' } });
    await fleet.addIdleWorker({ labels: { gpu_type: 'rtx4090' } });
    const job = { worker_labels: { gpu_type: 'a100*' } };
    expect((await fleet.submit(job)).workerId).toBe(fits.id);
    const { jobId } = await fleet.submit(job);
    const explanation = explain(fleet, jobId);
    expect(explanation).toMatchObject({
      summary:
        'No idle workers: 0 of 2 workers can take this job: 1 busy, 1 label gpu_type=a100* (have rtx4090)',
      unsatisfiable: false,
    });
    expect(explanation.workers[1]?.reasons).toMatchObject([
      { code: 'label', wanted: 'gpu_type=a100*', there: 'rtx4090' },
    ]);
  });

  test('shows the summary of the explanation in the job, too', async () => {
    const fleet = await openFleet();
    const { jobId } = await fleet.submit();
    expect(fleet.job(jobId).reason).toBe('No idle workers: no worker has been created yet');
    expect(explain(fleet, jobId)).toMatchObject({
      summary: fleet.job(jobId).reason,
      unsatisfiable: true,
      workers: [],
    });
  });
});

describe('explaining why a worker is ineligible', () => {
  test('lists every ineligibility reason of every worker', async () => {
    const fleet = await openFleet();
    const silent = await fleet.addIdleWorker({ agent: { gpus: 0 } });
    await silent.stream.drop();
    await fleet.clock.advance(130_000);
    const neverRegistered = await fleet.addWorker();
    const busy = await fleet.addIdleWorker();
    const otherJob = await fleet.runJob(busy);
    await fleet.drain(busy, { reason: 'new disks' });
    const goneRig = await fleet.addIdleWorker();
    await goneRig.disconnect();
    const withoutStream = await fleet.addIdleWorker();
    await withoutStream.stream.drop();
    const { jobId } = await fleet.submit({ gpu_count: 1 });
    const explanation = explain(fleet, jobId);
    expect(workerCodes(explanation, silent)).toEqual(['offline', 'no_stream', 'gpu_count']);
    expect(workerCodes(explanation, neverRegistered)).toEqual(['never_registered']);
    expect(workerCodes(explanation, busy)).toEqual(['draining', 'busy']);
    expect(workerCodes(explanation, withoutStream)).toEqual(['no_stream']);
    expect(workerCodes(explanation, goneRig)).toEqual(['offline', 'no_stream']);
    const details = explanation.workers.flatMap(({ reasons }) =>
      reasons.map(({ code, there }) => [code, there]),
    );
    expect(details).toEqual(
      expect.arrayContaining([
        ['offline', 'silent'],
        ['offline', 'goodbye'],
        ['draining', 'new disks'],
        ['busy', otherJob],
      ]),
    );
    expect(explanation.workers.map(({ fits }) => fits)).toEqual([false, false, false, false, false]);
    expect(explanation.summary).toBe(
      'No idle workers: 0 of 5 workers can take this job: 2 still connecting, 1 draining, 1 offline, 1 without a GPU (have 0)',
    );
  });

  test('lists a silent worker as offline although its stream is open', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.clock.advance(130_000);
    const { jobId } = await fleet.submit();
    expect(workerCodes(explain(fleet, jobId), rig)).toContain('offline');
  });

  test('lists the v1 agent as settling after a report', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const first = await fleet.runJob(rig);
    const { jobId } = await fleet.submit();
    await rig.report(first, 'completed');
    expect(workerCodes(explain(fleet, jobId), rig)).toEqual(['settling']);
    await fleet.clock.advance(50);
    expect(fleet.job(jobId).status).toBe('dispatched');
  });

  test('lists an ephemeral worker as leaving after its job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    const first = await fleet.runJob(rig);
    const { jobId } = await fleet.submit();
    await rig.report(first, 'completed');
    expect(workerCodes(explain(fleet, jobId), rig)).toEqual(['leaving']);
  });

  test('lists a quarantined worker with the reason of the quarantine', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await quarantine(fleet, rig);
    const { jobId } = await fleet.submit();
    const explanation = explain(fleet, jobId);
    expect(workerCodes(explanation, rig)).toEqual(['quarantined']);
    expect(explanation.workers[0]?.reasons[0]?.there).toBe(rig.view().quarantine?.reason);
    expect(explanation.summary).toBe('No idle workers: 0 of 1 worker can take this job: 1 quarantined');
    expect(explanation.unsatisfiable).toBe(false);
  });

  test('lists unmet requirements for the agent and the GPUs', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const { jobId } = await fleet.submit({
      on_lost_contact: 'stop',
      accelerator: 'rocm',
      gpu_vram_gb: 141,
    });
    expect(explain(fleet, jobId).workers[0]?.reasons).toMatchObject([
      { code: 'vram', wanted: '141 GB', there: '80 GB' },
      { code: 'accelerator', wanted: 'rocm', there: 'cuda' },
      { code: 'guard' },
    ]);
    expect(workerCodes(explain(fleet, jobId), rig)).toHaveLength(3);
  });

  test('lists the worker that had the job last as avoid_previous', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { retry_on: ['trainer_exit'] });
    await fleet.drain(rig);
    await rig.report(job, 'failed', { exit_code: 1 });
    expect(workerCodes(explain(fleet, job), rig)).toEqual(['draining', 'avoid_previous']);
  });
});

describe('explaining what blocks a job', () => {
  test('names the missing approval although a worker fits', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit({ requires_approval: true });
    expect(explain(fleet, jobId)).toMatchObject({
      summary: 'Waits for approval by somebody who may manage the queue',
      position: null,
      reasons: [{ code: 'approval' }],
      workers: [{ worker_id: rig.id, fits: true, reasons: [] }],
      no_prediction: 'Waits for approval by somebody who may manage the queue',
    });
  });

  test('names a pause with its user and note', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker();
    await fleet.orchestrator.queue.pause('new disks', ada);
    const { jobId, reason } = await fleet.submit();
    expect(reason).toBe('The queue is paused by ada: new disks');
    expect(explain(fleet, jobId)).toMatchObject({ summary: reason, reasons: [{ code: 'paused' }] });
    await fleet.orchestrator.queue.resume(ada);
    expect(fleet.job(jobId).status).toBe('dispatched');
  });

  test('names the limits of the queue and of each user with their counts', async () => {
    const fleet = await openFleet();
    for (let n = 0; n < 3; n++) await fleet.addIdleWorker();
    await fleet.orchestrator.queue.limit({ user_max_concurrent: 2 }, ada);
    for (let n = 0; n < 2; n++) await submitAs(fleet, ci);
    const job = await submitAs(fleet, ci);
    expect(fleet.job(job).reason).toBe('2 of 2 jobs of ci run: the limit of each user');
    const jobOfAda = await submitAs(fleet, ada);
    expect(fleet.job(jobOfAda).status).toBe('dispatched');
    await fleet.orchestrator.queue.limit({ max_concurrent: 3 }, ada);
    expect(explain(fleet, job).reasons.map(({ detail }) => detail)).toEqual([
      '3 of 3 jobs run: the limit of the queue',
      '2 of 2 jobs of ci run: the limit of each user',
    ]);
  });

  test('names the end of a back-off', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { retry_on: ['trainer_exit'] });
    await rig.report(job, 'failed', { exit_code: 1 });
    await rig.run(job);
    await rig.report(job, 'failed', { exit_code: 1 });
    const { summary, reasons, workers, predicted_start } = explain(fleet, job);
    expect(reasons).toMatchObject([{ code: 'backoff', detail: summary }]);
    const until = new Date(fleet.clock.wall() + 30_000).toISOString();
    expect(summary).toBe(`Waits until ${until} before the next attempt`);
    expect(workers).toMatchObject([{ fits: true, reasons: [{ code: 'avoid_previous' }] }]);
    expect(predicted_start).toMatchObject({ in_s: 30, at: until, guess: true });
    await fleet.clock.advance(30_000);
    expect(fleet.job(job).status).toBe('dispatched');
  });

  test('lists a full disk before all other blockers', async () => {
    const fleet = await openFleet();
    await fleet.orchestrator.queue.pause(null, ada);
    const { jobId } = await fleet.submit({ requires_approval: true });
    await fleet.setDiskFull(true);
    const explanation = explain(fleet, jobId);
    expect(codesOf(explanation)).toEqual(['storage', 'approval', 'paused']);
    expect(explanation.summary).toMatch(/^The disk of the orchestrator refuses changes/);
    await fleet.setDiskFull(false);
    expect(codesOf(explain(fleet, jobId))).toEqual(['approval', 'paused']);
  });

  test('returns an empty explanation once the job is no longer pending', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const empty = { summary: null, position: null, reasons: [], workers: [], unsatisfiable: false };
    expect(explain(fleet, job)).toMatchObject({ ...empty, status: 'running', predicted_start: null });
    await rig.report(job, 'completed');
    expect(explain(fleet, job)).toMatchObject({ ...empty, status: 'completed' });
  });

  test('returns job_not_found for a deleted job', async () => {
    const fleet = await openFleet();
    const { jobId } = await fleet.submit();
    await fleet.cancel(jobId);
    await fleet.orchestrator.jobs.remove(jobId, ada);
    expect(fleet.orchestrator.jobs.explain(jobId)).toMatchObject({
      ok: false,
      refusal: { code: 'job_not_found' },
    });
  });
});

test('describes the queue order while a worker is idle and dispatch has not run yet', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const first = await fleet.runJob(rig);
  const jobs: JobId[] = [];
  for (const job of [{}, { gpu_count: 7 }, {}, {}]) jobs.push((await fleet.submit(job)).jobId);
  const explanations: Explanation[] = [];
  // Dispatch runs when the cooldown ends. This timer reads the explanations just before dispatch.
  fleet.clock.after(50, () => explanations.push(...jobs.map(id => explain(fleet, id))));
  await rig.report(first, 'completed');
  await fleet.clock.advance(50);
  expect(explanations.map(({ summary }) => summary)).toEqual([
    'An idle worker fits: the job is next',
    expect.stringContaining('GPU requirements not met'),
    'An idle worker fits, and 1 job that it fits goes first',
    'An idle worker fits, and 2 jobs that it fits go first',
  ]);
  expect(explanations.map(codesOf)).toEqual([[], [], ['ahead'], ['ahead']]);
  expect(jobs.map(id => fleet.job(id).status)).toEqual(['dispatched', 'pending', 'pending', 'pending']);
});
