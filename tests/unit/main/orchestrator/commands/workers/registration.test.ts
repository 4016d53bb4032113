// See docs/internals/semantics.md, section 1.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';

test("keeps the admin's name of a worker and shows the agent's name as its host", async () => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker({ name: 'big-rig' });
  expect(await rig.register({ host: 'ip-10-0-0-7' })).toMatchObject({ worker_id: rig.id, name: 'big-rig' });
  expect(rig.view()).toMatchObject({ name: 'big-rig', host: 'ip-10-0-0-7' });
});

test("prefers each label of the admin to the agent's label with the same key", async () => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker({ labels: { team: 'nlp', zone: 'eu' } });
  await rig.register({ labels: { team: 'vision', disk: 'nvme' } });
  expect(rig.view().labels).toEqual({ team: 'nlp', zone: 'eu', disk: 'nvme' });
});

test.each([
  ['missing', undefined],
  ['empty', {}],
])('keeps all labels of a worker when the labels of its registration are %s', async (_case, labels) => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker({ labels: { team: 'nlp' } });
  await rig.register({ labels: { disk: 'nvme' } });
  await rig.register({ labels });
  expect(rig.view().labels).toEqual({ team: 'nlp', disk: 'nvme' });
  await rig.register({ labels: { disk: 'ssd' } });
  expect(rig.view().labels).toEqual({ team: 'nlp', disk: 'ssd' });
});

test('replaces the capabilities of a worker at every registration', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { gpus: 2 } });
  expect(rig.view()).toMatchObject({
    gpu_count: 2,
    gpu_name: 'NVIDIA A100-SXM4-80GB',
    gpu_vram_gb: 80,
    accelerator_type: 'cuda',
    protocol: 2,
  });
  // The disconnect is needed because a different kind of agent counts as another machine.
  await rig.disconnect();
  await rig.register({ gpus: 1, protocol: 1 });
  expect(rig.view()).toMatchObject({ gpu_count: 1, protocol: 1 });
});

test('lets the agent decide whether the worker leaves after a job, and keeps the worker type', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker({ type: 'persistent' });
  await rig.connect({ persistent: false });
  expect(rig.view()).toMatchObject({ worker_type: 'persistent', persistent: false });
  const job = await fleet.runJob(rig);
  await rig.report(job, 'completed', { exit_code: 0 });
  expect(rig.commandsOf('shutdown')).toHaveLength(1);
});

test('returns the intervals that follow from the heartbeat timeout T', async () => {
  const fleet = await openFleet({ heartbeatTimeoutMs: 4_000 });
  const rig = await fleet.addWorker();
  expect(await rig.register()).toEqual({
    worker_id: rig.id,
    name: 'rig-1',
    sse_url: `/api/workers/stream?worker_id=${rig.id}`,
    resume_job: null,
    abandon_job: null,
    cancel: null,
    protocol: 2,
    heartbeat_interval_s: 1,
    heartbeat_timeout_s: 4,
    stop_grace_s: 1,
    stream_silence_s: 2,
    allocation: null,
  });
});

test('refuses a heartbeat before the first registration', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker();
  expect(await rig.beat()).toMatchObject({ ok: false, refusal: { code: 'not_registered' } });
});

test('counts a heartbeat with an unknown status as contact and changes nothing', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.clock.advance(100_000);
  expect(await rig.beat(null, { status: 'unheard_of' })).toMatchObject({ ok: true });
  expect(rig.view()).toMatchObject({ status: 'idle', last_contact_age_s: 0 });
});

test('writes nothing to the store when a heartbeat reports no change', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const before = fleet.writes;
  for (let n = 0; n < 5; n++) {
    await fleet.clock.advance(10_000);
    await rig.beat(job);
  }
  expect(fleet.writes).toBe(before);
});

test('ends the current attempt of a worker that registers with an older attempt', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const { attempt_id: older } = rig.lastOffer();
  await rig.register();
  await rig.run(job);
  const reply = await rig.register({ currentJobId: job, currentAttemptId: older });
  expect(reply).toMatchObject({ resume_job: null, abandon_job: job });
  const { attempts } = valueOf(fleet.orchestrator.jobs.get(job));
  expect(attempts).toMatchObject([{ outcome: 'requeued' }, { outcome: 'requeued', cause: 'worker_lost' }]);
});

test('keeps the time of the last contact across a restart, and shows null for a worker that never connected', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const neverConnected = await fleet.addWorker();
  await rig.disconnect();
  await fleet.clock.advance(60_000);
  await fleet.restart();
  expect(rig.view()).toMatchObject({ status: 'offline', status_reason: 'goodbye', last_contact_age_s: 60 });
  expect(neverConnected.view()).toMatchObject({ last_heartbeat: null, last_contact_age_s: null });
});

test('shows the GPU load of the last heartbeat, or null when that heartbeat has no valid load', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  expect(rig.view()).toMatchObject({ gpu_utilization: null, vram_used_gb: null });
  await rig.beat(null, { gpu_utilization: 87, vram_used_gb: 22.5 });
  expect(rig.view()).toMatchObject({ gpu_utilization: 87, vram_used_gb: 22.5 });
  await rig.beat(null, { gpu_utilization: 'high' });
  expect(rig.view()).toMatchObject({ gpu_utilization: null, vram_used_gb: null });
});

test('shows the GPU figures of the last heartbeat, or none when that heartbeat has no figures', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  expect(rig.view()).toMatchObject({ gpu_figures: [] });
  const figures = { vram_used_gb: 20, temperature_c: 71, power_w: 344.5, power_limit_w: 450 };
  await rig.beat(null, { gpu_figures: [{ index: 1, utilization: 99, ...figures }] });
  expect(rig.view()).toMatchObject({ gpu_figures: [{ index: 1, utilization: 99, ...figures }] });
  await rig.beat(null, { gpu_utilization: 87 });
  expect(rig.view()).toMatchObject({ gpu_figures: [] });
});

describe('registrations that arrive out of order', () => {
  test.each([1, 2])(
    'ignores registration %i that arrives after registration 2 of the same agent start',
    async registrationNo => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker({ agent: { registrationNo: 2, gpus: 4 } });
      const job = await fleet.runJob(rig);
      const eventsBefore = fleet.events.length;
      const reply = await rig.register({ registrationNo, gpus: 1 });
      expect(reply).toMatchObject({ worker_id: rig.id, resume_job: null, abandon_job: null });
      expect(fleet.events).toHaveLength(eventsBefore);
      expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
      expect(rig.view().gpu_count).toBe(4);
    },
  );

  test('returns the same response when a registration is repeated', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { registrationNo: 1 } });
    const job = await fleet.runJob(rig);
    const registration = { registrationNo: 2, currentJobId: job };
    const [first, second] = [await rig.register(registration), await rig.register(registration)];
    expect(first.resume_job).toMatchObject({ job_id: job });
    expect(second).toEqual(first);
    await rig.report(job, 'completed', { exit_code: 0 });
    expect(await rig.register(registration)).toMatchObject({ resume_job: null, abandon_job: job });
  });

  test('keeps a worker offline when an old registration arrives after its disconnect', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { registrationNo: 2 } });
    await rig.disconnect();
    await rig.register({ registrationNo: 2 });
    expect(rig.view().status).toBe('offline');
  });

  test.each([
    ['the next of the same agent start', { registrationNo: 3 }],
    ['the first of another agent start', { registrationNo: 1, startId: 'second-start' }],
    ['without a number', {}],
  ])('accepts a registration that is %s', async (_case, changes) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { registrationNo: 2 } });
    const job = await fleet.runJob(rig);
    await rig.register({ registrationNo: undefined, ...changes });
    expect(fleet.job(job)).toMatchObject({ attempts: [{ outcome: 'requeued' }, {}] });
  });
});
